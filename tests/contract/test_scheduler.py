"""EventBridge Scheduler: what it keeps of schedules, on moto as well; moto never runs one.

https://docs.aws.amazon.com/scheduler/latest/APIReference/Welcome.html
"""

from collections.abc import Callable
from typing import Any

import pytest

from tests.contract.backends import START, Backend
from tests.contract.builders import refused

API = "https://docs.aws.amazon.com/scheduler/latest/APIReference"
CREATE_DOC = f"{API}/API_CreateSchedule.html"
DELETE_DOC = f"{API}/API_DeleteSchedule.html"
LIST_DOC = f"{API}/API_ListSchedules.html"
GROUP_DOC = f"{API}/API_CreateScheduleGroup.html"
TYPES_DOC = "https://docs.aws.amazon.com/scheduler/latest/UserGuide/schedule-types.html"

FUNCTION = "arn:aws:lambda:eu-west-1:123456789012:function:Remind"
TARGET = {"Arn": FUNCTION, "RoleArn": "arn:aws:iam::123456789012:role/scheduler", "Input": '{"a": 1}'}
Create = Callable[..., str]


@pytest.fixture
def scheduler(backend: Backend) -> Any:
    return backend.client("scheduler")


@pytest.fixture
def create(scheduler: Any) -> Create:
    """Create a schedule, daily unless told otherwise. Returns its ARN."""

    def create(name: str, **more: Any) -> str:
        request = {
            "ScheduleExpression": "cron(0 2 * * ? *)",
            "FlexibleTimeWindow": {"Mode": "OFF"},
            "Target": TARGET,
            **more,
        }
        arn: str = scheduler.create_schedule(Name=name, **request)["ScheduleArn"]
        return arn

    return create


def names(answer: dict[str, Any]) -> list[str]:
    return sorted(one["Name"] for one in answer["Schedules"])


def test_a_schedule_is_shown_as_it_was_made(scheduler: Any, create: Create) -> None:
    arn = create("nightly", ScheduleExpressionTimezone="Africa/Lagos", ActionAfterCompletion="NONE")

    shown = scheduler.get_schedule(Name="nightly")

    assert arn == shown["Arn"] == "arn:aws:scheduler:eu-west-1:123456789012:schedule/default/nightly"
    assert (shown["Name"], shown["GroupName"], shown["State"]) == ("nightly", "default", "ENABLED")
    assert shown["ScheduleExpression"] == "cron(0 2 * * ? *)"
    assert shown["ScheduleExpressionTimezone"] == "Africa/Lagos"
    assert shown["FlexibleTimeWindow"] == {"Mode": "OFF"}
    assert shown["Target"] == {
        **TARGET,
        "RetryPolicy": {"MaximumEventAgeInSeconds": 86_400, "MaximumRetryAttempts": 185},
    }


def test_a_deleted_schedule_is_gone_and_its_name_is_free(scheduler: Any, create: Create) -> None:
    create("nightly")

    scheduler.delete_schedule(Name="nightly")

    with pytest.raises(scheduler.exceptions.ResourceNotFoundException):
        scheduler.get_schedule(Name="nightly")
    with pytest.raises(scheduler.exceptions.ResourceNotFoundException):
        scheduler.delete_schedule(Name="nightly")
    create("nightly")


def test_a_name_is_taken_once_a_group(scheduler: Any, create: Create) -> None:
    scheduler.create_schedule_group(Name="reminders")
    create("one")
    create("one", GroupName="reminders")

    with pytest.raises(scheduler.exceptions.ConflictException):
        create("one")


@pytest.mark.moto_differs(reason="knows no tokens", doc=CREATE_DOC)
def test_the_same_request_under_the_same_token_is_done_once(scheduler: Any, create: Create) -> None:
    first = create("one", ClientToken="t1")

    assert create("one", ClientToken="t1") == first
    with refused("ConflictException"):
        create("other", ClientToken="t1")


@pytest.mark.moto_differs(reason="knows no tokens", doc=DELETE_DOC)
def test_a_deletion_repeated_under_its_token_is_no_error(scheduler: Any, create: Create) -> None:
    create("one")

    for _ in range(2):
        scheduler.delete_schedule(Name="one", ClientToken="t1")


def test_schedules_are_listed_by_group_prefix_and_state(scheduler: Any, create: Create) -> None:
    scheduler.create_schedule_group(Name="reminders")
    create("order-1-a", GroupName="reminders")
    create("order-2-a", GroupName="reminders", State="DISABLED")
    create("order-1-b")

    assert names(scheduler.list_schedules()) == ["order-1-a", "order-1-b", "order-2-a"]
    assert names(scheduler.list_schedules(GroupName="reminders")) == ["order-1-a", "order-2-a"]
    assert names(scheduler.list_schedules(NamePrefix="order-1")) == ["order-1-a", "order-1-b"]
    assert names(scheduler.list_schedules(State="DISABLED")) == ["order-2-a"]


def test_a_listing_tells_the_target_and_no_more_of_it(scheduler: Any, create: Create) -> None:
    arn = create("one")

    (one,) = scheduler.list_schedules()["Schedules"]

    assert (one["Arn"], one["GroupName"], one["State"]) == (arn, "default", "ENABLED")
    assert one["Target"] == {"Arn": FUNCTION}


def test_a_long_list_comes_in_pages(scheduler: Any, create: Create) -> None:
    for number in range(7):
        create(f"order-{number}")

    pages = list(scheduler.get_paginator("list_schedules").paginate(PaginationConfig={"PageSize": 3}))

    assert [len(page["Schedules"]) for page in pages] == [3, 3, 1]
    assert sorted(name for page in pages for name in names(page)) == [f"order-{n}" for n in range(7)]


@pytest.mark.parametrize("operation", ["odd-create", "get", "delete", "odd-list"])
@pytest.mark.moto_differs(reason="crashes, or knows no such group", doc=CREATE_DOC, of="odd")
def test_a_group_that_does_not_exist_is_told(scheduler: Any, create: Create, operation: str) -> None:
    calls: dict[str, Callable[[], Any]] = {
        "odd-create": lambda: create("one", GroupName="none"),
        "get": lambda: scheduler.get_schedule(Name="one", GroupName="none"),
        "delete": lambda: scheduler.delete_schedule(Name="one", GroupName="none"),
        "odd-list": lambda: scheduler.list_schedules(GroupName="none"),
    }

    with refused("ResourceNotFoundException"):
        calls[operation]()


@pytest.mark.moto_differs(reason="replaces it", doc=GROUP_DOC)
def test_a_group_is_made_once(scheduler: Any) -> None:
    arn = scheduler.create_schedule_group(Name="reminders")["ScheduleGroupArn"]

    assert arn == "arn:aws:scheduler:eu-west-1:123456789012:schedule-group/reminders"
    with refused("ConflictException"):
        scheduler.create_schedule_group(Name="reminders")


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"ScheduleExpression": "every day"}, id="no-expression"),
        pytest.param({"ScheduleExpression": "rate(1 week)"}, id="unit"),
        pytest.param({"ScheduleExpression": "rate(0 minutes)"}, id="nothing"),
        pytest.param({"ScheduleExpression": "cron(0 2 * * *)"}, id="five-fields"),
        pytest.param({"ScheduleExpression": "cron(0 2 * * * *)"}, id="both-days"),
        pytest.param({"ScheduleExpression": "cron(0 24 * * ? *)"}, id="hour-24"),
        pytest.param({"ScheduleExpression": "at(2025-02-30T00:00:00)"}, id="no-such-day"),
        pytest.param({"ScheduleExpression": "at(2099-01-01 00:00:00)"}, id="no-t"),
        pytest.param({"ScheduleExpression": "at(2025-06-15T15:06:39)"}, id="past"),
        pytest.param({"ScheduleExpressionTimezone": "Europe/Atlantis"}, id="no-such-zone"),
        pytest.param({"Target": {**TARGET, "Input": "no json"}}, id="input"),
        pytest.param({"Target": {**TARGET, "RetryPolicy": {"MaximumRetryAttempts": 186}}}, id="retries"),
        pytest.param(
            {"Target": {**TARGET, "DeadLetterConfig": {"Arn": "arn:aws:sqs:eu-west-1:123456789012:d.fifo"}}},
            id="fifo-dead-letters",
        ),
        pytest.param(
            {"FlexibleTimeWindow": {"Mode": "FLEXIBLE", "MaximumWindowInMinutes": 5}}, id="not-modelled"
        ),
    ],
)
@pytest.mark.moto_differs(reason="looks at nothing", doc=TYPES_DOC)
def test_what_is_no_schedule_is_refused(create: Create, change: dict[str, Any]) -> None:
    assert START == 1_750_000_000  # 2025-06-15T15:06:40Z

    with refused("ValidationException"):
        create("one", **change)
