"""Schedules that run: on the model only, since moto's never do.

https://docs.aws.amazon.com/scheduler/latest/UserGuide/what-is-scheduler.html
"""

import datetime
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from infra.local.aws import LocalAws, SystemClock
from tests.contract.backends import START, Model
from tests.contract.builders import create_queue, queue_arn, refused

FUNCTION = "arn:aws:lambda:eu-west-1:123456789012:function:Remind"
ROLE = "arn:aws:iam::123456789012:role/scheduler"
MINUTE, HOUR = 60, 3_600


def at(instant: float) -> str:
    return f"at({datetime.datetime.fromtimestamp(instant, datetime.UTC):%Y-%m-%dT%H:%M:%S})"


@dataclass
class Bench:
    """A scheduler, a queue and a function to aim at, and time in our hands."""

    model: Model

    def __post_init__(self) -> None:
        self.scheduler = self.model.client("scheduler")
        self.sqs = self.model.client("sqs")
        self.queue = create_queue(self.sqs, "work")
        self.model.aws.scheduler.functions.add(FUNCTION)

    def create(self, expression: str, name: str = "one", target: Any = None, **more: Any) -> str:
        arn: str = self.scheduler.create_schedule(
            Name=name,
            ScheduleExpression=expression,
            FlexibleTimeWindow={"Mode": "OFF"},
            Target=target or self.to_queue(),
            **more,
        )["ScheduleArn"]
        return arn

    def to_queue(self, url: str | None = None, **more: Any) -> dict[str, Any]:
        return {"Arn": queue_arn(self.sqs, url or self.queue), "RoleArn": ROLE, "Input": "remind", **more}

    def received(self, url: str | None = None) -> list[dict[str, Any]]:
        """What came, and leaves."""
        messages = self.sqs.receive_message(
            QueueUrl=url or self.queue,
            MaxNumberOfMessages=10,
            MessageAttributeNames=["All"],
            MessageSystemAttributeNames=["All"],
        ).get("Messages", [])
        for message in messages:
            self.sqs.delete_message(QueueUrl=url or self.queue, ReceiptHandle=message["ReceiptHandle"])
        return list(messages)

    def sent_at(self, seconds: float) -> list[float]:
        """Seconds after the start at which messages came, as time goes from one due instant to the next."""
        came = []
        end = self.model.clock.now() + seconds
        while (due := self.model.aws.next_due(recurring=True)) is not None and due <= end:
            self.model.advance(due - self.model.clock.now())
            came += [int(one["Attributes"]["SentTimestamp"]) / 1000 - START for one in self.received()]
        self.model.advance(end - self.model.clock.now())
        return came

    def names(self) -> list[str]:
        return [one["Name"] for one in self.scheduler.list_schedules()["Schedules"]]


@pytest.fixture
def bench(model: Model) -> Bench:
    return Bench(model)


@pytest.mark.parametrize(("expression", "due"), [("rate(1 minute)", 19.5), ("cron(* * * * ? *)", 20)])
@settings(max_examples=25)
@given(fraction=st.integers(0, 50_000).map(lambda hundredths: hundredths / 100_000))
@example(fraction=0.2845)
@example(fraction=0.4996)
def test_no_run_is_lost_or_doubled_wherever_its_creation_lies_between_two_milliseconds(
    expression: str, due: float, fraction: float
) -> None:
    """From half-way between two, the first run was lost, or one ran for ever."""
    bench = Bench(Model())
    bench.model.advance(19.5 + fraction)
    bench.create(expression)

    first, second = bench.sent_at(MINUTE + 1)

    assert first == pytest.approx(max(due, 19.5 + fraction), abs=0.000_501)
    assert second - first == pytest.approx(MINUTE)


def test_a_one_time_schedule_runs_at_its_second_and_once(bench: Bench) -> None:
    bench.create(at(START + 10 * HOUR))

    bench.model.advance(10 * HOUR - 0.001)
    assert bench.received() == []
    bench.model.advance(0.001)

    assert [message["Body"] for message in bench.received()] == ["remind"]
    assert bench.sent_at(48 * HOUR) == []
    assert bench.names() == ["one"]


def test_a_one_time_schedule_may_be_deleted_once_it_ran(bench: Bench) -> None:
    """docs.aws.amazon.com/scheduler/latest/UserGuide/managing-schedule-delete.html"""
    bench.create(at(START + 60), ActionAfterCompletion="DELETE")
    assert bench.names() == ["one"]

    bench.model.advance(60)

    assert bench.names() == []
    assert len(bench.received()) == 1


def test_a_time_is_one_of_its_zone(bench: Bench) -> None:
    bench.create("at(2025-06-15T20:00:00)", ScheduleExpressionTimezone="Europe/Berlin")

    due = datetime.datetime(2025, 6, 15, 18, tzinfo=datetime.UTC).timestamp()
    assert bench.model.aws.next_due() == due


def test_what_is_deleted_in_time_never_runs(bench: Bench) -> None:
    bench.create(at(START + 60))
    bench.model.advance(59)

    bench.scheduler.delete_schedule(Name="one")

    assert bench.model.aws.next_due() is None
    bench.model.advance(HOUR)
    assert bench.received() == []


def test_what_is_disabled_does_not_run(bench: Bench) -> None:
    bench.create("rate(1 minute)", State="DISABLED")

    assert bench.sent_at(HOUR) == []


def test_a_rate_begins_at_once_or_at_its_start(bench: Bench) -> None:
    bench.create("rate(1 minute)")
    assert bench.sent_at(150) == [0, 60, 120]
    bench.scheduler.delete_schedule(Name="one")

    bench.create("rate(2 hours)", StartDate=datetime.datetime.fromtimestamp(START + HOUR, datetime.UTC))

    assert bench.sent_at(5 * HOUR) == [HOUR, 3 * HOUR, 5 * HOUR]


def test_a_recurring_schedule_ends_with_its_last_run(bench: Bench) -> None:
    end = datetime.datetime.fromtimestamp(START + 150, datetime.UTC)
    bench.create("rate(1 minute)", EndDate=end, ActionAfterCompletion="DELETE")

    assert bench.sent_at(HOUR) == [0, 60, 120]
    assert bench.names() == []


def test_runs_that_nobody_looked_at_are_made_up_for_by_one(bench: Bench) -> None:
    bench.create("rate(1 minute)")
    bench.received()

    bench.model.advance(605)

    assert len(bench.received()) == 1
    assert bench.model.aws.next_due(recurring=True) == START + 660


def test_recurring_schedules_are_no_work_that_ends(bench: Bench) -> None:
    bench.create("rate(1 minute)")
    bench.received()

    assert bench.model.aws.next_due() is None
    assert bench.model.aws.next_due(recurring=True) == START + 60


def test_a_function_is_handed_its_input_with_what_the_run_is(bench: Bench) -> None:
    """docs.aws.amazon.com/scheduler/latest/UserGuide/managing-schedule-context-attributes.html"""
    told = {
        "order": 1001,
        "schedule": "<aws.scheduler.schedule-arn>",
        "time": "<aws.scheduler.scheduled-time>",
        "attempt": "<aws.scheduler.attempt-number>",
        "execution": "<aws.scheduler.execution-id>",
    }
    arn = bench.create(
        "at(2025-06-15T15:10:00)", target={"Arn": FUNCTION, "RoleArn": ROLE, "Input": json.dumps(told)}
    )
    assert bench.model.aws.scheduler.take_call() is None

    bench.model.advance(200)
    call = bench.model.aws.scheduler.take_call()

    assert call is not None
    assert call.function_arn == FUNCTION
    assert call.event["order"] == 1001
    assert call.event["schedule"] == call.schedule_arn == arn
    assert call.event["time"] == "2025-06-15T15:10:00Z"
    assert call.event["attempt"] == "1"
    assert not call.event["execution"].startswith("<")
    assert bench.model.aws.scheduler.take_call() is None


def test_a_function_without_input_gets_a_notification(bench: Bench) -> None:
    arn = bench.create(at(START + 1), target={"Arn": FUNCTION, "RoleArn": ROLE})
    bench.model.advance(1)

    call = bench.model.aws.scheduler.take_call()

    assert call is not None
    assert call.event["source"] == "aws.scheduler"
    assert call.event["detail-type"] == "Scheduled Event"
    assert call.event["resources"] == [arn]
    assert call.event["time"] == "2025-06-15T15:06:41Z"


def test_a_fifo_queue_gets_the_group(bench: Bench) -> None:
    url = create_queue(bench.sqs, "work.fifo", FifoQueue="true", ContentBasedDeduplication="true")
    bench.create(at(START + 1), target=bench.to_queue(url, SqsParameters={"MessageGroupId": "account-42"}))
    bench.model.advance(1)

    (message,) = bench.received(url)

    assert message["Attributes"]["MessageGroupId"] == "account-42"


def test_a_target_that_refuses_is_tried_again(bench: Bench) -> None:
    bench.create(at(START + 60))
    bench.model.aws.switches.throttle("scheduler", "Invoke", calls=3)

    assert bench.sent_at(HOUR) == [60 + 2 + 4 + 8]


def test_a_schedule_is_deleted_only_when_its_target_has_taken_it(bench: Bench) -> None:
    bench.create(at(START + 60), ActionAfterCompletion="DELETE")
    bench.model.aws.switches.throttle("scheduler", "Invoke")

    bench.model.advance(60)
    assert bench.names() == ["one"]
    bench.model.advance(2)

    assert bench.names() == []


@pytest.mark.parametrize(
    ("policy", "condition", "retries"),
    [
        ({"MaximumRetryAttempts": 0}, "MaximumRetryAttempts", "0"),
        ({"MaximumRetryAttempts": 2}, "MaximumRetryAttempts", "2"),
        ({"MaximumEventAgeInSeconds": 60}, "MaximumEventAgeInSeconds", "4"),
    ],
)
def test_what_no_target_takes_is_a_dead_letter(
    bench: Bench, policy: dict[str, int], condition: str, retries: str
) -> None:
    """docs.aws.amazon.com/scheduler/latest/UserGuide/configuring-schedule-dlq.html"""
    dead = create_queue(bench.sqs, "dead")
    none = "arn:aws:sqs:eu-west-1:123456789012:none"
    target = {
        **bench.to_queue(),
        "Arn": none,
        "RetryPolicy": policy,
        "DeadLetterConfig": {"Arn": queue_arn(bench.sqs, dead)},
    }
    arn = bench.create(at(START + 60), target=target)

    bench.sent_at(HOUR)

    (letter,) = bench.received(dead)
    told = {name: value["StringValue"] for name, value in letter["MessageAttributes"].items()}
    assert json.loads(letter["Body"])["MessageBody"] == "remind"
    assert told["ERROR_CODE"] == "QueueDoesNotExist"
    assert (told["EXHAUSTED_RETRY_CONDITION"], told["RETRY_ATTEMPTS"]) == (condition, retries)
    assert (told["SCHEDULE_ARN"], told["TARGET_ARN"]) == (arn, none)
    assert told["SCHEDULED_TIME"] == "2025-06-15T15:07:40Z"


def test_a_function_that_does_not_exist_refuses(bench: Bench) -> None:
    dead = create_queue(bench.sqs, "dead")
    target = {
        "Arn": f"{FUNCTION}-no",
        "RoleArn": ROLE,
        "RetryPolicy": {"MaximumRetryAttempts": 0},
        "DeadLetterConfig": {"Arn": queue_arn(bench.sqs, dead)},
    }
    bench.create(at(START + 60), target=target)
    bench.model.advance(60)

    assert bench.model.aws.scheduler.take_call() is None
    assert len(bench.received(dead)) == 1


def test_ten_thousand_reminders_run_each_at_its_time(bench: Bench) -> None:
    target = bench.to_queue()
    for number in range(10_000):
        bench.model.aws.request(
            "scheduler",
            "CreateSchedule",
            {
                "Name": f"order-{number}",
                "ScheduleExpression": at(START + 60 + number),
                "FlexibleTimeWindow": {"Mode": "OFF"},
                "Target": target,
                "ActionAfterCompletion": "DELETE",
            },
        )

    assert bench.sent_at(60 + 10) == [60 + number for number in range(11)]
    assert len(bench.model.aws.scheduler.schedules) == 10_000 - 11


def test_a_throttled_call_is_refused(bench: Bench) -> None:
    bench.model.aws.switches.throttle("scheduler", "ListSchedules", calls=10)

    with refused("ThrottlingException"), pytest.MonkeyPatch.context() as patch:
        patch.setattr("botocore.endpoint.time.sleep", lambda _: None)
        bench.names()


def test_a_long_poll_ends_when_a_schedule_sends() -> None:
    aws = LocalAws(SystemClock())
    sqs, scheduler = aws.session().client("sqs"), aws.session().client("scheduler")
    queue = create_queue(sqs, "work")
    polling = threading.Event()

    def poll() -> Any:
        polling.set()
        return sqs.receive_message(QueueUrl=queue, WaitTimeSeconds=20)

    with ThreadPoolExecutor() as pool:
        answer = pool.submit(poll)
        polling.wait()
        scheduler.create_schedule(
            Name="one",
            ScheduleExpression="rate(1 minute)",
            FlexibleTimeWindow={"Mode": "OFF"},
            Target={"Arn": queue_arn(sqs, queue), "RoleArn": ROLE, "Input": "remind"},
        )

        assert len(answer.result(timeout=10)["Messages"]) == 1
