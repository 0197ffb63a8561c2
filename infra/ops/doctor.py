"""`postroom doctor`: is the stack there, and is anything waiting for a person?"""

from dataclasses import dataclass

import typer
from rich.console import Console

from infra.ops.commands import REFUSED, command
from infra.ops.core import move_tasks
from infra.ops.core.outbox import unpublished
from infra.ops.core.queues import DeadLetterQueue, queues
from infra.ops.core.target import Target
from infra.ops.desk import Desk
from infra.ops.texts import age, count

LATE_SECONDS = 120
"""The sweep publishes what is older than a minute, once a minute: older than two, something is wrong."""


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at. `advice` is the command that goes on from here."""

    is_well: bool
    text: str
    advice: str = ""


def add_to(app: typer.Typer) -> None:
    command(app, "doctor", "doctor", "doctor --stack shop-prod")(doctor)


def doctor(desk: Desk) -> None:
    """Look whether anything needs a person; exits 1 when it does."""
    findings = examine(desk.target)
    desk.result([vars(one) for one in findings], lambda console: _show(console, findings))
    if not all(one.is_well for one in findings):
        raise typer.Exit(REFUSED)


def examine(target: Target) -> list[Finding]:
    """Resources, dead letters, what never reached a subscriber, and the outbox."""
    return [_resources(target), *_queues(target), _outbox(target)]


def _resources(target: Target) -> Finding:
    tables = [target.physical_id(name) for name in ("ShopTable", "JobsTable")]
    found = count(len(target.resources), "resource")
    return Finding(True, f"stack {target.name}: {found}, tables {' and '.join(tables)}")


def _queues(target: Target) -> list[Finding]:
    found = queues(target)
    others = (Finding(not one.depth, f"{one.name}: {count(one.depth, 'message')}") for one in found.others)
    return [*(_dead_letters(target, pair) for pair in found.dead_letters), *others]


def _dead_letters(target: Target, pair: DeadLetterQueue) -> Finding:
    task = move_tasks.latest(target, pair.dead)
    moving = f", a redrive is {task.status}" if task and task.is_active else ""
    text = f"{pair.subscriber}: {count(pair.dead.depth, 'dead letter')}{moving}"
    return Finding(not pair.dead.depth, text, f"postroom dlq show {pair.subscriber}")


def _outbox(target: Target) -> Finding:
    rows = unpublished(target)
    lag = max((target.clock() - row.born_at for row in rows), default=0)
    oldest = f", the oldest {age(lag)} old" if rows else ""
    text = f"outbox: {count(len(rows), 'unpublished row')}{oldest}"
    return Finding(lag < LATE_SECONDS and not any(row.refusal for row in rows), text, "postroom outbox ls")


def _show(console: Console, findings: list[Finding]) -> None:
    for one in findings:
        mark = "[green]✓[/green]" if one.is_well else "[red]✗[/red]"
        advice = f"   [dim]{one.advice}[/dim]" if one.advice and not one.is_well else ""
        console.print(f"{mark} {one.text}{advice}")
