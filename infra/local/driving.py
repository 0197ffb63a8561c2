"""Drive a stack along a clock that moves only when told to."""

from __future__ import annotations

from infra.local.aws.clock import ManualClock
from infra.local.stack import Stack

DAY_SECONDS = 86_400.0


class NotIdleError(AssertionError):
    """Work that does not come to an end within its limit."""


def run_for(stack: Stack, clock: ManualClock, seconds: float) -> None:
    """Let so many seconds pass: everything that falls due in them happens at its own instant."""
    end = clock.now() + seconds
    stack.settle()
    while (due := stack.next_due()) is not None and due <= end:
        _move_to(clock, due)
        stack.settle()
    _move_to(clock, end)
    stack.settle()


def run_until_idle(stack: Stack, clock: ManualClock, limit: float = DAY_SECONDS) -> float:
    """Let time pass until no message or batch waits for anything. Returns the seconds that it took.

    Raises `NotIdleError` when that takes longer than `limit` seconds.
    """
    start = clock.now()
    stack.settle()
    while (work := stack.next_work()) is not None:
        if work > start + limit:
            raise NotIdleError(f"still waiting after {limit:g} s, next at +{work - start:g} s")
        _move_to(clock, min(work, stack.next_due() or work))
        stack.settle()
    return clock.now() - start


def _move_to(clock: ManualClock, time: float) -> None:
    clock.advance(max(0.0, time - clock.now()))
