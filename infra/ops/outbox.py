"""`postroom outbox`: what is still to be published, and one event again for one subscriber."""

from typing import Any

import typer
from rich.console import Console

from infra.ops.commands import command
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
