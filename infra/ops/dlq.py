"""`postroom dlq`: look into dead-letter queues, redrive what is mended, let the rest go."""

from typing import Annotated, Any

import typer

from infra.ops.commands import REFUSED, DryRun, Yes, command
from infra.ops.core import move_tasks, redrive
from infra.ops.core.causes import by_cause
from infra.ops.core.queues import DeadLetterQueue, queues
from infra.ops.core.redrive import Filter
from infra.ops.core.skip import skip
from infra.ops.desk import Desk
from infra.ops.dlq_shown import group_document, name_of, show_groups, show_list, show_skipped
from infra.ops.redriving import Redriving
from infra.ops.texts import count

app = typer.Typer(help="Dead letters: list, show by cause, redrive, skip.", no_args_is_help=True)

Subscriber = Annotated[str, typer.Argument(help="Whose dead letters, such as `receipts`.")]
Job = Annotated[str, typer.Option(metavar="ID", help="Only those of this event or job.")]
Error = Annotated[str, typer.Option(metavar="TEXT", help="Only those whose error or its message holds this.")]


@command(app, "ls", "dlq ls", "dlq ls --stack shop-prod --json")
def ls(desk: Desk) -> None:
    """List the dead-letter queues and how many messages each holds."""
    found = queues(desk.target)
    rows = [_summary(desk, pair) for pair in found.dead_letters]
    others = [{"queue": queue.name, "messages": queue.depth} for queue in found.others]
    desk.result({"deadLetters": rows, "others": others}, lambda console: show_list(console, rows, found))


@command(app, "show", "dlq show receipts", "dlq show receipts --error Timeout", "dlq show loyalty --json")
def show(
    desk: Desk,
    subscriber: Subscriber,
    job: Job = "",
    error: Error = "",
    most: Annotated[int, typer.Option(min=1, help="Jobs to show of each cause.")] = 5,
) -> None:
    """Show a queue's dead letters, grouped by cause, with each job's ledger. All stay where they are."""
    pair = queues(desk.target).of(subscriber)
    groups = by_cause(redrive.chosen(desk.target, pair, Filter(job, error)))
    _tell_of_others(desk, pair)
    desk.result(
        [group_document(group) for group in groups], lambda console: show_groups(console, groups, most)
    )


@command(
    app,
    "redrive",
    "dlq redrive receipts",
    "dlq redrive receipts --canary 1 --rate 50",
    "dlq redrive receipts --error Timeout --dry-run",
    "dlq redrive loyalty --job order-1001-paid --yes",
)
def redrive_(
    desk: Desk,
    subscriber: Subscriber,
    job: Job = "",
    error: Error = "",
    canary: Annotated[int, typer.Option(min=0, help="First so many, and the rest if they succeed.")] = 0,
    wait: Annotated[
        float, typer.Option(min=0, metavar="SECONDS", help="How long to wait for the canary.")
    ] = 60,
    rate: Annotated[int | None, typer.Option(min=1, max=500, help="Most messages a second.")] = None,
    to: Annotated[
        str, typer.Option(metavar="SUBSCRIBER", help="Into this queue, wherever they came from.")
    ] = "",
    dry_run: DryRun = False,
    yes: Yes = False,
) -> None:
    """Send dead letters back to their queue, once the cause is mended.

    A whole queue is moved by SQS itself; chosen letters one by one, each deleted once its copy is confirmed.
    """
    found = queues(desk.target)
    destination = found.of(to).source if to else None
    _tell_of_others(desk, found.of(subscriber))
    asked = Redriving(desk, found.of(subscriber), Filter(job, error), rate, canary, wait, destination)
    if _agreed(desk, subscriber, asked.number, asked.question, yes=yes, dry_run=dry_run):
        asked.run()


@command(app, "stop", "dlq stop receipts")
def stop(desk: Desk, subscriber: Subscriber) -> None:
    """Stop a running redrive. What it has moved stays moved."""
    moved = move_tasks.stop(desk.target, queues(desk.target).of(subscriber))
    desk.note("dlq stop", subscriber=subscriber, moved=moved)
    desk.result(
        {"subscriber": subscriber, "moved": moved}, lambda c: c.print(f"stopping; {moved} were moved")
    )


@command(
    app,
    "skip",
    "dlq skip receipts --job order-1001-paid --note 'refunded by hand'",
    "dlq skip receipts --error 'not an address' --dry-run",
)
def skip_(
    desk: Desk,
    subscriber: Subscriber,
    job: Job = "",
    error: Error = "",
    everything: Annotated[bool, typer.Option("--all", help="Every letter of the queue.")] = False,
    note: Annotated[str, typer.Option(metavar="TEXT", help="Why; kept with the job.")] = "",
    dry_run: DryRun = False,
    yes: Yes = False,
) -> None:
    """Let dead letters go for good: their jobs stay dead, with a note; the messages are deleted."""
    which = Filter(job, error)
    if which.is_all and not everything:
        raise typer.BadParameter("say which: --job, --error or --all")
    pair = queues(desk.target).of(subscriber)
    number = len(redrive.chosen(desk.target, pair, which))
    question = f"Let {count(number, 'dead letter')} of {subscriber} go for good?"
    if not _agreed(desk, subscriber, number, question, yes=yes, dry_run=dry_run):
        return
    with desk.progress("skipping") as report:
        came = skip(desk.target, pair, which, note, report)
    ids, left = [name_of(one) for one in came.done], [name_of(one) for one in came.left]
    desk.note("dlq skip", subscriber=subscriber, messages=len(ids), jobs=ids, note=note)
    document = {"subscriber": subscriber, "skipped": ids, "left": left}
    desk.result(document, lambda console: show_skipped(console, ids, left))
    if left:
        raise typer.Exit(REFUSED)


def _summary(desk: Desk, pair: DeadLetterQueue) -> dict[str, Any]:
    task = move_tasks.latest(desk.target, pair.dead)
    moving = (
        {"status": task.status, "moved": task.moved, "of": task.to_move} if task and task.is_active else None
    )
    return {
        "subscriber": pair.subscriber,
        "deadLetters": pair.dead.depth,
        "waiting": pair.source.visible + pair.source.delayed,
        "inFlight": pair.source.in_flight,
        "redrive": moving,
    }


def _tell_of_others(desk: Desk, pair: DeadLetterQueue) -> None:
    """What somebody else has received is out of everybody's reach until that is over."""
    if pair.dead.in_flight:
        letters = count(pair.dead.in_flight, "letter")
        desk.tell(f"{letters} of {pair.subscriber} left out: somebody is looking at them at the moment")


def _agreed(desk: Desk, subscriber: str, number: int, question: str, *, yes: bool, dry_run: bool) -> bool:
    """Whether there is something to do and it may be done; if not, that is the command's result."""
    if not number:
        nothing = {"subscriber": subscriber, "messages": 0}
        desk.result(nothing, lambda console: console.print(f"no such dead letters of {subscriber}"))
        return False
    if desk.may(question, yes=yes, dry_run=dry_run):
        return True
    desk.result({"subscriber": subscriber, "messages": number, "dryRun": True}, lambda _: None)
    return False
