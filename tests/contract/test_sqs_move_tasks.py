"""Move tasks, SQS's own redrive out of a dead-letter queue. Moto has none of it: on the model only.

https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_StartMessageMoveTask.html,
API_ListMessageMoveTasks.html and API_CancelMessageMoveTask.html
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from botocore.exceptions import ClientError

from infra.local.aws import LocalAws, ManualClock

START = 1_750_000_000.0
SYSTEM = {"AWSTraceHeader": {"DataType": "String", "StringValue": "Root=1-5759e988-bd862e3fe1be46a994272793"}}
ATTRIBUTES = {"publication": {"DataType": "String", "StringValue": "p1"}}


@dataclass
class Bench:
    """A dead-letter queue with two sources, and time in our hands."""

    clock: ManualClock
    sqs: Any

    def __post_init__(self) -> None:
        self.dead = self.queue("dead")
        self.dead_arn = self.arn(self.dead)
        policy = json.dumps({"deadLetterTargetArn": self.dead_arn, "maxReceiveCount": 1})
        self.first = self.queue("first", RedrivePolicy=policy)
        self.second = self.queue("second", RedrivePolicy=policy)

    def queue(self, name: str, **attributes: str) -> str:
        url: str = self.sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]
        return url

    def arn(self, url: str) -> str:
        answer = self.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])
        arn: str = answer["Attributes"]["QueueArn"]
        return arn

    def send(self, url: str, *bodies: str) -> None:
        for body in bodies:
            self.sqs.send_message(
                QueueUrl=url, MessageBody=body, MessageAttributes=ATTRIBUTES, MessageSystemAttributes=SYSTEM
            )

    def die(self, url: str, *bodies: str) -> None:
        """Messages that SQS itself moves to the dead-letter queue."""
        self.send(url, *bodies)
        while self.receive(url, visibility=0):
            pass

    def receive(self, url: str, visibility: int = 30) -> list[dict[str, Any]]:
        answer = self.sqs.receive_message(
            QueueUrl=url,
            MaxNumberOfMessages=10,
            VisibilityTimeout=visibility,
            MessageSystemAttributeNames=["All"],
            MessageAttributeNames=["All"],
        )
        messages: list[dict[str, Any]] = answer.get("Messages", [])
        return messages

    def bodies(self, url: str) -> list[str]:
        return [message["Body"] for message in self.receive(url, visibility=0)]

    def depth(self, url: str) -> int:
        name = "ApproximateNumberOfMessages"
        return int(self.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=[name])["Attributes"][name])

    def start(self, **more: Any) -> str:
        handle: str = self.sqs.start_message_move_task(SourceArn=self.dead_arn, **more)["TaskHandle"]
        return handle

    def tasks(self, **more: Any) -> list[dict[str, Any]]:
        results: list[dict[str, Any]] = self.sqs.list_message_move_tasks(SourceArn=self.dead_arn, **more)[
            "Results"
        ]
        return results


@pytest.fixture
def bench() -> Bench:
    clock = ManualClock(START)
    return Bench(clock, LocalAws(clock).session().client("sqs"))


@contextmanager
def refused(code: str, message: str) -> Iterator[None]:
    with pytest.raises(ClientError, match=message) as info:
        yield
    assert info.value.response["Error"]["Code"] == code


def test_each_message_goes_back_to_its_own_source(bench: Bench) -> None:
    bench.die(bench.first, "a")
    bench.die(bench.second, "b")

    bench.start()
    bench.clock.advance(1)

    assert bench.bodies(bench.first) == ["a"]
    assert bench.bodies(bench.second) == ["b"]
    assert bench.depth(bench.dead) == 0
    assert bench.tasks() == [
        {
            "Status": "COMPLETED",
            "SourceArn": bench.dead_arn,
            "ApproximateNumberOfMessagesMoved": 2,
            "ApproximateNumberOfMessagesToMove": 2,
            "StartedTimestamp": int(START * 1000),
        }
    ]


def test_a_destination_takes_all_of_them(bench: Bench) -> None:
    elsewhere = bench.queue("elsewhere")
    bench.die(bench.first, "a")
    bench.die(bench.second, "b")
    bench.send(bench.dead, "sent there directly")

    bench.start(DestinationArn=bench.arn(elsewhere))
    bench.clock.advance(1)

    assert bench.bodies(elsewhere) == ["a", "b", "sent there directly"]
    assert bench.tasks()[0]["DestinationArn"] == bench.arn(elsewhere)


def test_a_redriven_message_is_new_but_says_the_same(bench: Bench) -> None:
    bench.die(bench.first, "a")
    (before,) = bench.receive(bench.dead, visibility=0)

    bench.clock.advance(100)
    bench.start()
    bench.clock.advance(1)
    (after,) = bench.receive(bench.first)

    assert after["MessageId"] != before["MessageId"]
    assert after["Body"] == before["Body"]
    assert after["MessageAttributes"] == before["MessageAttributes"] == ATTRIBUTES
    assert after["Attributes"]["AWSTraceHeader"] == SYSTEM["AWSTraceHeader"]["StringValue"]
    assert after["Attributes"]["ApproximateReceiveCount"] == "1"
    assert int(after["Attributes"]["SentTimestamp"]) > int(before["Attributes"]["SentTimestamp"])
    assert "DeadLetterQueueSourceArn" not in after["Attributes"]


def test_nothing_has_moved_yet_when_the_call_returns(bench: Bench) -> None:
    bench.die(bench.first, "a")

    handle = bench.start()

    assert bench.depth(bench.dead) == 1
    (task,) = bench.tasks()
    assert (task["Status"], task["TaskHandle"]) == ("RUNNING", handle)
    assert task["ApproximateNumberOfMessagesMoved"] == 0


def test_the_rate_is_kept(bench: Bench) -> None:
    bench.die(bench.first, *"abcdef")

    bench.start(MaxNumberOfMessagesPerSecond=2)
    moved = []
    for _ in range(3):
        bench.clock.advance(1)
        moved.append(bench.tasks()[0]["ApproximateNumberOfMessagesMoved"])

    assert moved == [2, 4, 6]
    assert bench.tasks()[0]["MaxNumberOfMessagesPerSecond"] == 2


def test_a_message_sent_there_directly_fails_the_task_later(bench: Bench) -> None:
    """docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/troubleshooting-dlq-redrive.html"""
    bench.die(bench.first, "a")
    bench.send(bench.dead, "sent there directly")

    bench.start()
    bench.clock.advance(1)

    (task,) = bench.tasks()
    assert (task["Status"], task["FailureReason"]) == ("FAILED", "CouldNotDetermineMessageSource")
    assert "TaskHandle" not in task
    assert bench.bodies(bench.first) == ["a"]
    assert bench.bodies(bench.dead) == ["sent there directly"]


def test_only_a_dead_letter_queue_can_be_redriven(bench: Bench) -> None:
    with refused("InvalidParameterValue", "must be configured as a Dead Letter Queue"):
        bench.sqs.start_message_move_task(SourceArn=bench.arn(bench.first))


@pytest.mark.parametrize("parameter", ["SourceArn", "DestinationArn"])
def test_both_queues_must_exist(bench: Bench, parameter: str) -> None:
    none = "arn:aws:sqs:eu-west-1:123456789012:none"

    with refused("ResourceNotFoundException", f"for the {parameter} parameter doesn't exist"):
        bench.sqs.start_message_move_task(**{"SourceArn": bench.dead_arn, parameter: none})


@pytest.mark.parametrize("rate", [0, 501])
def test_the_rate_is_between_1_and_500(bench: Bench, rate: int) -> None:
    with refused("InvalidParameterValue", "between 1 and 500"):
        bench.start(MaxNumberOfMessagesPerSecond=rate)


def test_one_active_task_a_queue(bench: Bench) -> None:
    bench.die(bench.first, "a", "b")
    handle = bench.start(MaxNumberOfMessagesPerSecond=1)

    with refused("InvalidParameterValue", "already a task running"):
        bench.start()
    bench.sqs.cancel_message_move_task(TaskHandle=handle)
    assert bench.tasks()[0]["Status"] == "CANCELLING"
    with refused("InvalidParameterValue", "already a task running"):
        bench.start()

    bench.clock.advance(1)
    bench.start()


def test_cancelling_stops_what_has_not_moved_and_reverts_nothing(bench: Bench) -> None:
    bench.die(bench.first, *"abcd")
    handle = bench.start(MaxNumberOfMessagesPerSecond=1)
    bench.clock.advance(2)

    answer = bench.sqs.cancel_message_move_task(TaskHandle=handle)
    bench.clock.advance(60)

    assert answer["ApproximateNumberOfMessagesMoved"] == 2
    (task,) = bench.tasks()
    assert task["Status"] == "CANCELLED"
    assert "TaskHandle" not in task
    assert (bench.depth(bench.first), bench.depth(bench.dead)) == (2, 2)


def test_only_a_running_task_can_be_cancelled(bench: Bench) -> None:
    bench.die(bench.first, "a")
    handle = bench.start()
    bench.clock.advance(1)

    with refused("InvalidParameterValue", "COMPLETED"):
        bench.sqs.cancel_message_move_task(TaskHandle=handle)
    with refused("InvalidParameterValue", "TaskHandle is invalid"):
        bench.sqs.cancel_message_move_task(TaskHandle="nonsense")


def test_tasks_are_listed_latest_first_and_one_unless_asked_for_more(bench: Bench) -> None:
    for rate in range(1, 13):
        bench.start(MaxNumberOfMessagesPerSecond=rate)
        bench.clock.advance(2)

    assert [task["MaxNumberOfMessagesPerSecond"] for task in bench.tasks()] == [12]
    assert [task["MaxNumberOfMessagesPerSecond"] for task in bench.tasks(MaxResults=10)] == list(
        range(12, 2, -1)
    )
    with refused("InvalidParameterValue", "between 1 and 10"):
        bench.tasks(MaxResults=11)


def test_what_comes_straight_back_is_not_moved_again_by_the_same_task(bench: Bench) -> None:
    bench.die(bench.first, "poison", "other")
    bench.start(MaxNumberOfMessagesPerSecond=1)

    bench.clock.advance(1)
    while bench.receive(bench.first, visibility=0):
        pass
    bench.clock.advance(10)

    assert bench.tasks()[0]["ApproximateNumberOfMessagesMoved"] == 2
    assert bench.depth(bench.dead) + bench.depth(bench.first) == 2


def test_messages_that_somebody_is_looking_at_stay(bench: Bench) -> None:
    bench.die(bench.first, "a", "b")
    bench.sqs.receive_message(QueueUrl=bench.dead, MaxNumberOfMessages=1, VisibilityTimeout=60)

    bench.start()
    bench.clock.advance(1)

    assert bench.bodies(bench.first) == ["b"]
    bench.clock.advance(60)
    assert bench.bodies(bench.dead) == ["a"]
