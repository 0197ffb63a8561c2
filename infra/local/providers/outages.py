"""A provider's bad days, at the turn of a switch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

FOREVER = float("inf")


@dataclass
class Switch:
    """Makes one provider fail or answer late. `clock` gives epoch seconds, `latency` is in seconds."""

    clock: Callable[[], float]
    latency: float = 0
    _down_until: float = 0

    def fail(self, seconds: float = FOREVER) -> None:
        """Be out of order from now on, for so many seconds."""
        self._down_until = self.clock() + seconds

    def mend(self) -> None:
        """Work again, and without delay."""
        self._down_until = 0
        self.latency = 0

    @property
    def is_down(self) -> bool:
        return self.clock() < self._down_until
