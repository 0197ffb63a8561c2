"""What callers asked of the model, and what AWS would bill for it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

KEPT_CALLS = 200_000


@dataclass(slots=True)
class Usage:
    """The DynamoDB request units of the call being answered."""

    write: float = 0.0
    read: float = 0.0


@dataclass(frozen=True, slots=True)
class Call:
    """One request, as the service saw it: a retry by the SDK is a call of its own.

    `at` is in seconds since the epoch; `error` is the code of the error answered, if one was.
    """

    service: str
    operation: str
    write_units: float
    read_units: float
    at: float
    error: str | None = None


class Meter:
    """All calls, oldest first. A long run keeps the latest part only."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self._open: list[list[Call]] = []

    def record(self, call: Call) -> None:
        self.calls.append(call)
        if len(self.calls) > KEPT_CALLS:
            del self.calls[: KEPT_CALLS // 2]
        for window in self._open:
            window.append(call)

    @contextmanager
    def window(self) -> Iterator[list[Call]]:
        """Collect the calls made inside the block, whichever thread makes them."""
        calls: list[Call] = []
        self._open.append(calls)
        try:
            yield calls
        finally:
            self._open = [window for window in self._open if window is not calls]
