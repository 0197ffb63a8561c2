"""`postroom outbox`: what is still to be published, and one event again for one subscriber."""

from typing import Annotated, Any

import typer
from rich.console import Console

from infra.ops.commands import DryRun, Yes, command
from infra.ops.core import outbox as core
from infra.ops.core.jobs import of_event
from infra.ops.core.outbox import Unpublished, unpublished
from infra.ops.desk import Desk
from infra.ops.texts import age, count, table

app = typer.Typer(help="The outbox: what is still to be published.", no_args_is_help=True)


@command(app, "ls", "outbox ls", "outbox ls --json")
def ls(desk: Desk) -> None:
    """List what has not gone out yet, and what the topic refuses."""
    rows = unpublished(desk.target)
    now = desk.target.clock()
    desk.result([_document(row, now) for row in rows], lambda console: _show(console, rows, now))


@command(
    app,
    "republish",
    "outbox republish order-1001-paid --to receipts",
    "outbox republish order-1001-paid --to receipts --reopen --yes",
)
def republish(
    desk: Desk,
    event: Annotated[str, typer.Argument(help="The event's id, such as `order-1001-paid`.")],
    to: Annotated[str, typer.Option(metavar="SUBSCRIBER", help="The one that gets it again.")],
    reopen: Annotated[bool, typer.Option("--reopen", help="Start a dead job again, too.")] = False,
    dry_run: DryRun = False,
    yes: Yes = False,
) -> None:
    """Send one event to one subscriber again, straight to its queue.

    A job that has an outcome takes it for a repeat, unless it is dead and --reopen is given.
    """
    (job,) = of_event(desk.target, desk.target.job_type(to).job_id(event))
    question = f"Send {event} to {to} again, whose job is {job.view.state}?"
    if not desk.may(question, yes=yes, dry_run=dry_run):
        return desk.result(
            {"event": event, "to": to, "state": job.view.state, "dryRun": True}, lambda _: None
        )
    sent = core.republish(desk.target, event, to, reopen=reopen)
    facts = {"event": event, "to": to, "reopen": reopen, "publication": sent.publication}
    desk.note("outbox republish", **facts)
    return desk.result(facts, lambda console: console.print(f"sent to {to}, message {sent.message_id}"))


def _document(row: Unpublished, now: float) -> dict[str, Any]:
    document = {"item": f"{row.key.pk}/{row.key.sk}", "ageSeconds": round(now - row.born_at, 1)}
    return document if row.refusal is None else {**document, "refused": row.refusal}


def _show(console: Console, rows: list[Unpublished], now: float) -> None:
    if not rows:
        return console.print("everything is published")
    listed = table("item", "age", "")
    for row in rows:
        why = f"refused: {row.refusal}" if row.refusal else "waits for the relay or the sweep"
        listed.add_row(f"{row.key.pk}/{row.key.sk}", age(now - row.born_at), why)
    console.print(listed)
    return console.print(count(len(rows), "row"))
