"""A schedule, and one run of it on its way to the target."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from infra.local.aws.clock import MILLISECONDS
from infra.local.aws.scheduler.expressions import Expression

_MAX_AGE_SECONDS = 86_400
_MAX_RETRIES = 185
_LONGEST_BACKOFF_SECONDS = 600


@dataclass(slots=True, eq=False)
class Schedule:
    """One schedule, which runs from its first instant to its last. Times are epoch milliseconds.

    `turn` and `due_ms` are its place among those to come.
    """

    arn: str
    group: str
    name: str
    request: Mapping[str, Any]
    expression: Expression
    created_ms: int
    first_ms: int
    last_ms: int | None = None
    turn: int = 0
    due_ms: int = 0
    tenant: str | None = None

    @property
    def is_enabled(self) -> bool:
        return bool(self.request.get("State", "ENABLED") == "ENABLED")

    @property
    def is_deleted_when_done(self) -> bool:
        """https://docs.aws.amazon.com/scheduler/latest/UserGuide/managing-schedule-delete.html"""
        return self.request.get("ActionAfterCompletion") == "DELETE"

    def next_after(self, instant_ms: int) -> int | None:
        """When it runs next after an instant, never before its first; None when it is done."""
        due_ms = self.expression.next_after(max(instant_ms, self.first_ms - 1))
        return None if due_ms is None or (self.last_ms is not None and due_ms > self.last_ms) else due_ms


@dataclass(slots=True, eq=False)
class Run:
    """One run of a schedule, until its target has taken it. Times are epoch milliseconds.

    `due_ms` is when it is tried next, `schedule_is_done` whether it is the schedule's last.
    """

    schedule: Schedule
    scheduled_ms: int
    schedule_is_done: bool
    attempts: int = 0
    turn: int = 0
    due_ms: int = 0
    tenant: str | None = None

    @property
    def target(self) -> Mapping[str, Any]:
        target: Mapping[str, Any] = self.schedule.request["Target"]
        return target

    def exhausted_condition(self, now_ms: int) -> str | None:
        """Why it is not tried again, in the words of the retry policy; None when it is.

        https://docs.aws.amazon.com/scheduler/latest/APIReference/API_RetryPolicy.html
        """
        policy = self.target.get("RetryPolicy") or {}
        if self.attempts > policy.get("MaximumRetryAttempts", _MAX_RETRIES):
            return "MaximumRetryAttempts"
        age_ms = policy.get("MaximumEventAgeInSeconds", _MAX_AGE_SECONDS) * MILLISECONDS
        is_too_old = now_ms + self._backoff_ms() > self.scheduled_ms + age_ms
        return "MaximumEventAgeInSeconds" if is_too_old else None

    def next_try_ms(self, now_ms: int) -> int:
        """Exponential back-off; how AWS's grows is not documented."""
        return now_ms + self._backoff_ms()

    def _backoff_ms(self) -> int:
        seconds: int = min(_LONGEST_BACKOFF_SECONDS, 2 ** min(self.attempts, 10))
        return seconds * MILLISECONDS
