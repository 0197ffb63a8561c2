"""`postroom outbox`: what is still to be published, and one event again for one subscriber."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Annotated, Any

import typer
from rich.console import Console

from handlers.postroom.events import Envelope
from infra.ops.commands import REFUSED, DryRun, Yes, command
from infra.ops.core import outbox as core
from infra.ops.core.backfill import Backfill
from infra.ops.core.errors import Refused
from infra.ops.core.jobs import of_event
from infra.ops.core.outbox import Unpublished, unpublished
from infra.ops.core.queues import queues
from infra.ops.desk import Desk
from infra.ops.texts import age, count, table

FORMATS = ["%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"]
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


@command(
    app,
    "backfill",
    "outbox backfill gifts --since 2026-11-01 --dry-run",
    "outbox backfill gifts --since 2026-11-01 --until 2026-11-30T12:00 --rate 50 --yes",
)
def backfill(
    desk: Desk,
    to: Annotated[str, typer.Argument(metavar="SUBSCRIBER", help="The one that gets the past.")],
    since: Annotated[datetime, typer.Option(formats=FORMATS, help="Events from then on, UTC.")],
    until: Annotated[
        datetime | None, typer.Option(formats=FORMATS, help="Events before then, UTC; else until now.")
    ] = None,
    rate: Annotated[int | None, typer.Option(min=1, help="Send at most so many events a second.")] = None,
    dry_run: DryRun = False,
    yes: Yes = False,
) -> None:
    """Send a subscriber the past events that it has no job for, oldest first, straight to its queue.

    For a subscriber that was added later. It reads the whole Shop table, which costs read units. A second run
    finds only what is still missing. An event older than 17 days goes only to a queue younger than the event.
    """
    past = _backfill(desk, to, since, until)
    with desk.progress("looking for events") as report:
        missing = past.missing(lambda seen: report(seen, seen))
    too_old = [envelope.id for envelope in missing if past.too_old(envelope)]
    sendable = [envelope for envelope in missing if not past.too_old(envelope)]
    facts = {"to": to, "missing": len(missing), "tooOld": too_old}
    question = f"Send {count(len(sendable), 'event')} to {to}, {_span(sendable)}?"
    if not sendable or not desk.may(question, yes=yes, dry_run=dry_run):
        return desk.result({**facts, "sent": 0}, partial(_tell_backfill, 0, too_old, {}))
    with desk.progress("sending") as report:
        failed = past.send(sendable, rate, report)
    sent = len(sendable) - len(failed)
    desk.note("outbox backfill", to=to, sent=sent, failed=len(failed))
    desk.result({**facts, "sent": sent, "failed": failed}, partial(_tell_backfill, sent, too_old, failed))
    if failed:
        raise typer.Exit(REFUSED)
    return None


def _backfill(desk: Desk, to: str, since: datetime, until: datetime | None) -> Backfill:
    start, now = since.replace(tzinfo=UTC).timestamp(), desk.target.clock()
    end = until.replace(tzinfo=UTC).timestamp() if until else now
    if start >= end:
        raise Refused(f"--since {since:%Y-%m-%dT%H:%M} is not before {'--until' if until else 'now'}")
    queue = queues(desk.target).of(to).source
    return Backfill(desk.target, desk.target.job_type(to), queue, start, end)


def _span(envelopes: Sequence[Envelope]) -> str:
    if not envelopes:
        return "none"
    first, last = envelopes[0].time, envelopes[-1].time
    return f"of {first:%Y-%m-%d %H:%M} to {last:%Y-%m-%d %H:%M}"


def _tell_backfill(sent: int, too_old: Sequence[str], failed: Mapping[str, str], console: Console) -> None:
    console.print(f"{count(sent, 'event')} sent")
    if too_old:
        console.print(f"{count(len(too_old), 'event')} too old: its job may have been done and forgotten")
    for event_id, reason in failed.items():
        console.print(f"not sent: {event_id}: {reason}", markup=False)


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
