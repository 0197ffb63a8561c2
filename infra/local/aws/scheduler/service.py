"""The operations of Amazon EventBridge Scheduler, and its clockwork.

https://docs.aws.amazon.com/scheduler/latest/APIReference/API_Operations.html

Schedules are driven by the clock alone: whoever looks first lets happen what was due by then. A recurring
schedule that nobody looked at for a while runs once for all the times it missed.
"""

from collections.abc import Callable, Mapping
from typing import Any

from infra.local.aws.clock import MILLISECONDS, milliseconds
from infra.local.aws.errors import AwsError
from infra.local.aws.line import Line
from infra.local.aws.region import Region
from infra.local.aws.scheduler import checks, shown
from infra.local.aws.scheduler.expressions import ExpressionError, parse
from infra.local.aws.scheduler.schedule import Run, Schedule
from infra.local.aws.scheduler.targets import FunctionCall, Targets
from infra.local.aws.sqs import Sqs

Params = Mapping[str, Any]
Answer = dict[str, Any]
Name = tuple[str, str]
"""A schedule's group and name."""

DEFAULT_GROUP = "default"
_CONFLICT = 409
_NOT_FOUND = 404


class Scheduler:
    """All schedules of the account."""

    def __init__(self, region: Region, sqs: Sqs) -> None:
        self._region = region
        self._targets = Targets(region, sqs)
        self.schedules: dict[Name, Schedule] = {}
        self._groups: dict[str, str] = {DEFAULT_GROUP: self._group_arn(DEFAULT_GROUP)}
        self._answers: dict[tuple[str, str], tuple[Params, Answer]] = {}
        self._once: Line[Schedule] = Line()
        self._recurring: Line[Schedule] = Line()
        self._runs: Line[Run] = Line()
        region.background.append(self)

    @property
    def functions(self) -> set[str]:
        """The ARNs of the functions that exist."""
        return self._targets.functions

    def take_call(self, wanted: Callable[[FunctionCall], bool] = lambda _: True) -> FunctionCall | None:
        """The oldest wanted call of a function that was due by now; it is the taker's to make."""
        with self._region.changed:
            self._region.catch_up()
            return self._targets.take_call(wanted)

    def next_run(self, arn: str) -> float | None:
        """When a schedule runs next, in epoch seconds; None when it does not, or does not exist."""
        with self._region.changed:
            self._region.catch_up()
            _, group, name = arn.split("/")
            schedule = self.schedules.get((group, name))
            return schedule.due_ms / MILLISECONDS if schedule is not None and schedule.turn else None

    # -- operations

    def create_schedule_group(self, params: Params) -> Answer:
        return self._once_a_token("CreateScheduleGroup", params, self._create_group)

    def create_schedule(self, params: Params) -> Answer:
        return self._once_a_token("CreateSchedule", params, self._create)

    def delete_schedule(self, params: Params) -> Answer:
        return self._once_a_token("DeleteSchedule", params, self._delete)

    def get_schedule(self, params: Params) -> Answer:
        return shown.schedule(self._found(params))

    def list_schedules(self, params: Params) -> Answer:
        """Of one group or all, by name, in pages."""
        if "GroupName" in params:
            self._check_group(params["GroupName"])
        self._region.catch_up()
        return shown.page(self.schedules.values(), params)

    def _create_group(self, params: Params) -> Answer:
        name = params["Name"]
        checks.check_name(name)
        if name in self._groups:
            raise AwsError("ConflictException", f"Schedule group {name} already exists.", _CONFLICT)
        self._groups[name] = self._group_arn(name)
        return {"ScheduleGroupArn": self._groups[name]}

    def _create(self, params: Params) -> Answer:
        group, name = _name(params)
        checks.check_schedule(params)
        self._check_group(group)
        self._region.catch_up()
        if (group, name) in self.schedules:
            raise AwsError("ConflictException", f"Schedule {name} already exists.", _CONFLICT)
        schedule = self._schedule(group, name, params)
        if not self._place(schedule, schedule.created_ms - 1) and not schedule.expression.is_recurring:
            raise checks.invalid(f"{params['ScheduleExpression']} is in the past.")
        self.schedules[group, name] = schedule
        self._region.changed.notify_all()
        return {"ScheduleArn": schedule.arn}

    def _delete(self, params: Params) -> Answer:
        schedule = self._found(params)
        self._line_of(schedule).leave(schedule)
        self._forget(schedule)
        return {}

    def _forget(self, schedule: Schedule) -> None:
        name = (schedule.group, schedule.name)
        if self.schedules.get(name) is schedule:
            del self.schedules[name]

    def _schedule(self, group: str, name: str, params: Params) -> Schedule:
        """Only recurring schedules heed a start and an end; a rate without a start begins at once."""
        now_ms = self._region.now_ms()
        start_ms = max(now_ms, milliseconds(params.get("StartDate", 0)))
        end_ms = milliseconds(params["EndDate"]) if "EndDate" in params else None
        try:
            zone = params.get("ScheduleExpressionTimezone") or "UTC"
            expression = parse(params["ScheduleExpression"], zone, start_ms)
        except ExpressionError as error:
            raise checks.invalid(str(error)) from error
        arn = self._region.arn("scheduler", f"schedule/{group}/{name}")
        first_ms, last_ms = (start_ms, end_ms) if expression.is_recurring else (now_ms, None)
        return Schedule(arn, group, name, dict(params), expression, now_ms, first_ms, last_ms)

    def _once_a_token(self, operation: str, params: Params, act: Callable[[Params], Answer]) -> Answer:
        """The same request under the same token is done once and answered alike."""
        token = params.get("ClientToken")
        if token is None:
            return act(params)
        known = self._answers.get((operation, token))
        if known is None:
            known = self._answers[operation, token] = (params, act(params))
        if known[0] != params:
            raise AwsError("ConflictException", "The token was used with other parameters.", _CONFLICT)
        return known[1]

    def _found(self, params: Params) -> Schedule:
        group, name = _name(params)
        self._check_group(group)
        self._region.catch_up()
        schedule = self.schedules.get((group, name))
        if schedule is None:
            raise AwsError("ResourceNotFoundException", f"Schedule {name} does not exist.", _NOT_FOUND)
        return schedule

    def _check_group(self, name: str) -> None:
        if name not in self._groups:
            raise AwsError("ResourceNotFoundException", f"Schedule group {name} does not exist.", _NOT_FOUND)

    def _group_arn(self, name: str) -> str:
        return self._region.arn("scheduler", f"schedule-group/{name}")

    # -- clockwork

    def catch_up(self) -> None:
        """Let every schedule and every retry do what was due by now."""
        now = self._region.now_ms()
        for line in (self._once, self._recurring):
            while due := line.take(now, 1, lambda _: True):
                self._run(due[0], now)
        while runs := self._runs.take(now, 1, lambda _: True):
            self._attempt(runs[0], now)

    def next_due_ms(self) -> int | None:
        """When it does something next, recurring schedules included."""
        return _earliest(self.next_work_ms(), self._next_ms(self._recurring))

    def next_work_ms(self) -> int | None:
        """The same without recurring schedules, which are never done."""
        return _earliest(self._next_ms(self._once), self._next_ms(self._runs))

    def _next_ms(self, line: "Line[Schedule] | Line[Run]") -> int | None:
        now = self._region.now_ms()
        first = line.first_due(now)
        return line.next_due_ms(now) if first is None else first.due_ms

    def _line_of(self, schedule: Schedule) -> Line[Schedule]:
        return self._recurring if schedule.expression.is_recurring else self._once

    def _place(self, schedule: Schedule, instant_ms: int) -> bool:
        """Whether the schedule runs again after an instant."""
        due_ms = schedule.next_after(instant_ms)
        if due_ms is not None and schedule.is_enabled:
            self._line_of(schedule).place(schedule, due_ms)
        return due_ms is not None

    def _run(self, schedule: Schedule, now_ms: int) -> None:
        scheduled_ms = schedule.due_ms
        goes_on = self._place(schedule, now_ms)
        self._runs.place(Run(schedule, scheduled_ms, not goes_on), now_ms)

    def _attempt(self, run: Run, now_ms: int) -> None:
        run.attempts += 1
        try:
            self._targets.deliver(run)
        except AwsError as error:
            condition = run.exhausted_condition(now_ms)
            if condition is None:
                self._runs.place(run, run.next_try_ms(now_ms))
                return
            self._targets.bury(run, error, condition)
        if run.schedule_is_done and run.schedule.is_deleted_when_done:
            self._forget(run.schedule)


def _name(params: Params) -> Name:
    return params.get("GroupName") or DEFAULT_GROUP, params["Name"]


def _earliest(*times: int | None) -> int | None:
    return min((time for time in times if time is not None), default=None)
