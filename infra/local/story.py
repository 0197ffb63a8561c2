"""A story told on the terminal while it happens, with the seconds, each step checked."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from rich.console import Console


class NotAsToldError(AssertionError):
    """A step of the story that did not come out as it says."""


@dataclass
class Telling:
    """Where a story is told, and since when."""

    console: Console
    start: float = field(default_factory=time.monotonic, kw_only=True)

    def chapter(self, title: str) -> None:
        self.console.print(f"\n[bold]{title}[/bold]")

    def tell(self, text: str, mark: str = "·") -> None:
        seconds = time.monotonic() - self.start
        self.console.print(f"  [dim]{seconds:6.2f} s[/dim]  {mark} {text}", highlight=False, soft_wrap=True)

    def check(self, holds: bool, text: str) -> None:
        """Tell what holds. Raises `NotAsToldError` when it does not."""
        self.tell(text, "[green]✓[/green]" if holds else "[red]✗[/red]")
        if not holds:
            raise NotAsToldError(text)
