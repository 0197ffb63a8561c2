"""Schedules: functions called by EventBridge Scheduler, which the AWS model has, and by EventBridge rules."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Protocol
from uuid import uuid4

from infra.expand import TemplateError
from infra.local.aws.clock import MILLISECONDS, milliseconds
from infra.local.aws.scheduler import FunctionCall, Scheduler
from infra.local.aws.scheduler.expressions import Expression, ExpressionError, parse
from infra.local.functions import Function


class UnknownScheduleError(TemplateError):
    """A schedule expression that this machine does not run."""


class Schedule(Protocol):
    """What calls one function of the template by the clock; `next_due` is infinite when it never will."""

    @property
    def name(self) -> str: ...

    @property
    def function(self) -> Function: ...

    @property
    def concurrency(self) -> int: ...

    def next_due(self) -> float: ...

    def claim(self) -> Callable[[], int] | None: ...


@dataclass(frozen=True)
class Scheduled:
    """A schedule of the template. Where its calls wait for one another, the latest stands for all of them."""

    name: str
    function: Function
    arn: str
    scheduler: Scheduler
    concurrency: int = 1

    def next_due(self) -> float:
        due = self.scheduler.next_run(self.arn)
        return math.inf if due is None else due

    def claim(self) -> Callable[[], int] | None:
        """Return the call that is due, if one is."""
        latest = None
        while call := self.scheduler.take_call(lambda call: call.schedule_arn == self.arn):
            latest = call
        return None if latest is None else _invocation(self.function, latest)


@dataclass(frozen=True)
class ScheduledElsewhere:
    """What schedules call that are not the template's, but made while it runs: reminders, for instance."""

    scheduler: Scheduler
    functions: Mapping[str, Function]
    templates: Collection[str]
    name: str = "Scheduler"
    concurrency: int = 5

    def next_due(self) -> None:
        """The model itself tells."""

    def claim(self) -> Callable[[], int] | None:
        call = self.scheduler.take_call(lambda call: call.schedule_arn not in self.templates)
        return None if call is None else _invocation(self.functions[call.function_arn], call)


def _invocation(function: Function, call: FunctionCall) -> Callable[[], int]:
    def invoke() -> int:
        # Asynchronous: what the function answers or raises is told to its observers only.
        function.invoke(call.event)
        return 1

    return invoke


def rule_expression(text: str, start: float) -> Expression:
    """Read the expression of a rule, which knows UTC only; a rate counts from `start`, in epoch seconds.

    Raises `UnknownScheduleError`.
    """
    try:
        return parse(text, "UTC", milliseconds(start))
    except ExpressionError as error:
        raise UnknownScheduleError(f"{text} does not run on this machine: {error}") from error


@dataclass
class Rule:
    """A scheduled rule of the template; at a rate, the first call comes after one interval.

    https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-scheduled-rule-pattern.html
    """

    name: str
    function: Function
    expression: str
    clock: Callable[[], float]
    payload: Mapping[str, Any] | None = None
    due: float = field(init=False)
    concurrency: int = 1

    def __post_init__(self) -> None:
        self._times = rule_expression(self.expression, self.clock())
        self.due = self._next()

    def next_due(self) -> float:
        return self.due

    def claim(self) -> Callable[[], int] | None:
        """Return the call that is due, if one is. Missed calls are not made up for."""
        now = self.clock()
        if now < self.due:
            return None
        self.due = self._next()
        return lambda: self._call(now)

    def _next(self) -> float:
        due_ms = self._times.next_after(milliseconds(self.clock()))
        return math.inf if due_ms is None else due_ms / MILLISECONDS

    def _call(self, now: float) -> int:
        self.function.invoke(self.payload or self._event(now))
        return 1

    def _event(self, now: float) -> dict[str, Any]:
        return {
            "version": "0",
            "id": str(uuid4()),
            "detail-type": "Scheduled Event",
            "source": "aws.events",
            "time": datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "resources": [self.name],
            "detail": {},
        }
