"""Rows and times as an operator reads them."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from handlers.postroom.storage import Item

STATE_STYLES: Mapping[str, str] = {
    "completed": "green",
    "dead": "red",
    "retrying": "yellow",
    "running": "cyan",
    "cancelled": "dim",
    "expired": "dim",
}


def moment(epoch_seconds: float) -> str:
    """In UTC, as every log has it."""
    return datetime.fromtimestamp(epoch_seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")


def age(seconds: float) -> str:
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.1f} {unit}"
    return f"{max(0.0, seconds):.0f} s"


def count(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def state(name: str) -> Text:
    return Text(name, style=STATE_STYLES.get(name, ""))


def table(*columns: str) -> Table:
    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for column in columns:
        made.add_column(column, overflow="fold")
    return made


def ledger_lines(row: Item) -> Iterator[str]:
    """Every failure that the row keeps, and the note of whoever let it rest."""
    for entry in row.get("failures", ()):
        answer = f" (answered {entry['answer']})" if "answer" in entry else ""
        where = f"  at {entry['where']}" if "where" in entry else ""
        what = f"{entry.get('error')}{answer}: {entry.get('message')}{where}"
        yield f"attempt {entry.get('attempt')}  {moment(int(entry.get('at', 0)) / 1000)}  {what}"
    if "note" in row:
        note = row["note"]
        why = note["text"] or "(no reason given)"
        yield f"skipped  {moment(int(note['at']) / 1000)}  by {note['by']}: {why}"


def print_ledger(console: Console, row: Item, indent: str = "    ") -> None:
    for line in ledger_lines(row):
        console.print(f"{indent}{line}", markup=False)


def plain(value: Any) -> Any:
    """A stored item as JSON can say it: DynamoDB's decimals are whole numbers here, or texts."""
    if isinstance(value, Mapping):
        return {name: plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if value is None or isinstance(value, str | bool | int):
        return value
    return int(value) if value == int(value) else str(value)
