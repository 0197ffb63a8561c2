"""Where the model gets its time from."""

import threading
import time
from typing import Protocol

MILLISECONDS = 1000


def milliseconds(seconds: float) -> int:
    """Seconds in whole milliseconds, the nearest: instants are then equal, or one is after the other."""
    return round(seconds * MILLISECONDS)


class Clock(Protocol):
    """Time, and the right to wait for it."""

    def now(self) -> float:
        """Seconds since the epoch."""
        ...

    def wait(self, condition: threading.Condition, seconds: float) -> bool:
        """Wait on the held condition for at most so many seconds; False when waiting makes no sense."""
        ...

    def sleep(self, seconds: float) -> None:
        """Let so many seconds pass."""
        ...


class SystemClock:
    """The machine's clock; waiting really waits."""

    def now(self) -> float:
        return time.time()

    def wait(self, condition: threading.Condition, seconds: float) -> bool:
        condition.wait(seconds)
        return True

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


class ManualClock:
    """A clock that moves only when told to. Nothing ever waits on it: it would wait for ever."""

    def __init__(self, now: float = 1_750_000_000.0) -> None:
        # Whole microseconds, so that a thousand small steps add up exactly.
        self._micros = round(now * 1_000_000)

    def now(self) -> float:
        return self._micros / 1_000_000

    def advance(self, seconds: float) -> None:
        """Move forward by so many seconds."""
        if seconds < 0:
            raise ValueError("time does not go backwards")
        self._micros += round(seconds * 1_000_000)

    def wait(self, condition: threading.Condition, seconds: float) -> bool:  # noqa: ARG002 - the clock's contract
        return False

    def sleep(self, seconds: float) -> None:
        """Whoever sleeps on this clock moves it."""
        self.advance(seconds)
