"""Where an operator works at a terminal: the stack, how results are shown, and how consent is asked for."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from infra.ops.core import audit
from infra.ops.core.move_tasks import Report
from infra.ops.core.target import Target

PIPED_WIDTH = 200
"""Columns where there is no terminal to fit: what is piped on should keep its lines."""


def console(*, stderr: bool = False) -> Console:
    """For one of the standard streams."""
    is_terminal = (sys.stderr if stderr else sys.stdout).isatty()
    return Console(stderr=stderr, highlight=False, width=None if is_terminal else PIPED_WIDTH)


@dataclass(frozen=True)
class Desk:
    """`as_json` makes results one JSON document on stdout; all else that is told goes to stderr then."""

    target: Target
    as_json: bool = False
    console: Console = field(default_factory=console)
    aside: Console = field(default_factory=lambda: console(stderr=True))

    def result(self, document: Any, show: Callable[[Console], None]) -> None:
        """Give a command's result: as JSON, or as `show` prints it."""
        if self.as_json:
            sys.stdout.write(f"{json.dumps(document, indent=2, ensure_ascii=False, default=str)}\n")
        else:
            show(self.console)

    def tell(self, text: str) -> None:
        """Say something on the way to the result."""
        (self.aside if self.as_json else self.console).print(text, markup=False, soft_wrap=True)

    def may(self, question: str, *, yes: bool, dry_run: bool) -> bool:
        """Whether to go ahead. Asks unless told yes; a dry run never goes ahead. Exits 1 on a no."""
        if dry_run:
            self.tell(f"dry run, nothing is changed. It would ask: {question}")
            return False
        return yes or typer.confirm(question, abort=True, err=self.as_json)

    def note(self, act: str, **facts: Any) -> str:
        """Leave an audit line and return it."""
        return json.dumps(audit.note(self.target, act, **facts), ensure_ascii=False)

    @contextmanager
    def progress(self, what: str) -> Iterator[Report]:
        """A bar on the terminal for what takes long; nothing where there is no terminal."""
        columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        console = self.aside if self.as_json else self.console
        with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
            task = bar.add_task(what, total=None)
            yield lambda done, of: bar.update(task, completed=done, total=of)
