"""Schedules: functions called at a steady rate, as EventBridge does."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from infra.local.functions import Function
from infra.local.intrinsics import TemplateError

_RATE = re.compile(r"rate\((\d+) (minute|hour|day)s?\)")
_SECONDS = {"minute": 60, "hour": 3600, "day": 86400}


class UnknownScheduleError(TemplateError):
    """A schedule expression that this machine does not run."""


def interval_of(expression: str) -> float:
    """Return the seconds between two calls. Raises `UnknownScheduleError` for anything but `rate(...)`."""
    found = _RATE.fullmatch(expression)
    if found is None:
        raise UnknownScheduleError(f"only rate(...) schedules run on this machine, not {expression}")
    return int(found[1]) * _SECONDS[found[2]]


@dataclass
class Schedule:
    """One schedule of the template. `interval` is in seconds; the first call comes after one of them."""

    name: str
    function: Function
    interval: float
    clock: Callable[[], float]
    payload: Mapping[str, Any] | None = None
    due: float = field(init=False)
    concurrency: int = 1

    def __post_init__(self) -> None:
        self.due = self.clock() + self.interval

    def next_due(self) -> float:
        return self.due

    def claim(self) -> Callable[[], int] | None:
        """Return the call that is due, if one is. Missed calls are not made up for."""
        now = self.clock()
        if now < self.due:
            return None
        self.due += self.interval * (1 + (now - self.due) // self.interval)
        return lambda: self._call(now)

    def _call(self, now: float) -> int:
        self.function.invoke(self.payload or self._event(now))
        return 1

    def _event(self, now: float) -> dict[str, Any]:
        return {
            "version": "0",
            "id": str(uuid4()),
            "detail-type": "Scheduled Event",
            "source": "aws.scheduler",
            "time": datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "resources": [self.name],
            "detail": {},
        }
