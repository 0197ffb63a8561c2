"""`postroom jobs`: what is late or dead, and all that is known of one event's jobs."""

from typing import Annotated, Any

import typer
from rich.console import Console
from rich.live import Live
from rich.table import Table

from infra.ops.commands import DryRun, Yes, command
from infra.ops.core import jobs as core
from infra.ops.core.errors import Refused
from infra.ops.core.jobs import LISTED_STATES, JobFacts
from infra.ops.desk import Desk
from infra.ops.texts import count, moment, plain, print_ledger, state, table

app = typer.Typer(help="Jobs: list, show with ledger, watch, cancel.", no_args_is_help=True)

Id = Annotated[str, typer.Argument(help="An event's id, or a job's: `order-1001-paid:receipts`.")]


@command(app, "ls", "jobs ls", "jobs ls --state retrying --subscriber receipts", "jobs ls --json")
def ls(
    desk: Desk,
    state: Annotated[str, typer.Option(help=f"One of: {', '.join(LISTED_STATES)}.")] = "dead",
    subscriber: Annotated[str | None, typer.Option(metavar="NAME", help="Only this subscriber's.")] = None,
    most: Annotated[int, typer.Option(min=1, help="At most so many, the latest first.")] = 50,
) -> None:
    """List jobs that are dead, retrying, or parked till their turn. Others are in no index: see `show`."""
    if state not in LISTED_STATES:
        raise Refused(f"only these are listed: {', '.join(LISTED_STATES)}")
    found = core.listed(desk.target, state, subscriber, most)
    desk.result([_document(one) for one in found], lambda console: console.print(_listed(found, state)))


@command(app, "show", "jobs show order-1001-paid", "jobs show order-1001-paid:receipts --json")
def show(desk: Desk, id: Id) -> None:  # noqa: A002 - it is the argument's name on the command line
    """Show an event's jobs, or one of them, with the whole ledger."""
    found = core.of_event(desk.target, id)
    desk.result([_document(one) for one in found], lambda console: _show(console, found))


@command(app, "watch", "jobs watch order-1001-paid")
def watch(desk: Desk, id: Id) -> None:  # noqa: A002
    """Watch an event's jobs until all have ended."""
    found: list[JobFacts] = []
    with Live(console=desk.aside, transient=True) as live:
        for facts in core.watched(desk.target, id):
            found = list(facts)
            live.update(_states(found))
    desk.result([_document(one) for one in found], lambda console: console.print(_states(found)))


@command(app, "cancel", "jobs cancel order-1001-paid:receipts", "jobs cancel order-1001-paid --dry-run")
def cancel(desk: Desk, id: Id, dry_run: DryRun = False, yes: Yes = False) -> None:  # noqa: A002
    """Cancel what has not started, of an event or of one job, as its owner could."""
    open_ones = [one.id for one in core.of_event(desk.target, id) if one.view.is_open]
    if not open_ones:
        raise Refused(f"nothing of {id} is open: there is nothing to cancel")
    if not desk.may(f"Cancel {', '.join(open_ones)}?", yes=yes, dry_run=dry_run):
        return desk.result({"id": id, "jobs": open_ones, "dryRun": True}, lambda _: None)
    document = core.cancel(desk.target, id)
    desk.note("jobs cancel", id=id, state=document["state"])
    return desk.result(document, lambda console: console.print(f"{id} is {document['state']}", markup=False))


def _document(facts: JobFacts) -> dict[str, Any]:
    return {
        **plain(facts.view.document),
        "state": facts.state,
        "row": plain(facts.row),
        "marker": plain(facts.marker),
    }


def _listed(found: list[JobFacts], of_state: str) -> Table | str:
    if not found:
        return f"no job is {of_state}"
    listed = table("job", "attempts", "since", "last failure")
    for one in found:
        last = (one.row.get("failures") or [{}])[-1]
        since = moment(int(one.row.get("since", 0)) / 1000)
        why = f"{last.get('error', '')}: {last.get('message', '')}" if last else ""
        skipped = "(skipped) " if "note" in one.row else ""
        listed.add_row(one.id, str(one.row.get("attempts", 0)), since, f"{skipped}{why}")
    return listed


def _states(found: list[JobFacts]) -> Table:
    shown = table("job", "state", "attempts", "")
    for one in found:
        view = one.view
        shown.add_row(one.id, state(one.state), str(view.attempts), view.error or "")
    return shown


def _show(console: Console, found: list[JobFacts]) -> None:
    for one in found:
        view = one.view
        heading = table("", "", "")
        heading.show_header = False
        heading.add_row(one.id, state(one.state), count(view.attempts, "attempt"))
        console.print(heading)
        if view.result:
            console.print(f"    result: {plain(view.result)}", markup=False)
        if one.row.get("generation"):
            console.print(f"    redriven: {count(one.row['generation'], 'time')}")
        print_ledger(console, one.row)
