"""Event source mappings of FIFO queues.

https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-scaling.html and services-sqs-errorhandling.html
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from infra.local.aws import LocalAws, ManualClock
from infra.local.queue_mapping import QueueMapping, QueueMappingSettings
from infra.local.sources import ModelQueue
from tests.unit.local.functions import Probe, failing

VISIBILITY = 30
MAX_RECEIVES = 3


class Feed:
    """A FIFO queue of the model with a dead-letter queue, mapped to a probe."""

    def __init__(self, probe: Probe, **settings: Any) -> None:
        self.time = ManualClock(probe.clock.now)
        self.aws = LocalAws(self.time)
        self.probe = probe
        self._client = self.aws.session().client("sqs")
        self._make("dead.fifo")
        policy = {
            "deadLetterTargetArn": self.aws.sqs.queue("dead.fifo").arn,
            "maxReceiveCount": MAX_RECEIVES,
        }
        self.url = self._make(
            "work.fifo", VisibilityTimeout=str(VISIBILITY), RedrivePolicy=json.dumps(policy)
        )
        self.mapping = QueueMapping(
            "Mapping",
            ModelQueue(self.aws.region, self.aws.sqs.queue("work.fifo")),
            probe.function,
            QueueMappingSettings(**{"reports_failures": True, **settings}),
            "eu-west-1",
            probe.stopping,
        )

    def _make(self, name: str, **attributes: Any) -> str:
        given: Any = {"FifoQueue": "true", **attributes}
        return self._client.create_queue(QueueName=name, Attributes=given)["QueueUrl"]

    def send(self, *bodies: str) -> None:
        """To the group that each body's first letter names."""
        for body in bodies:
            self._client.send_message(
                QueueUrl=self.url, MessageBody=body, MessageGroupId=body[0], MessageDeduplicationId=body
            )

    def poll(self) -> int:
        work = self.mapping.claim()
        return work() if work else 0

    def poll_until_dry(self) -> None:
        while self.poll():
            pass

    @property
    def batches(self) -> list[list[str]]:
        return [[record["body"] for record in event["Records"]] for event in self.probe.events]

    def left(self, name: str = "work.fifo") -> list[str]:
        return [message.body for message in self.aws.sqs.queue(name).messages]


def failing_bodies(*bodies: str) -> Any:
    """A handler that reports these as failed, and carries on with the rest."""

    def handler(event: Any, _context: Any) -> Any:
        return failing(*(record["messageId"] for record in event["Records"] if record["body"] in bodies))

    return handler


def test_record_tells_its_group_its_number_and_its_deduplication_id() -> None:
    feed = Feed(Probe(failing()))
    feed.send("a1")

    feed.poll()

    ((record,),) = [event["Records"] for event in feed.probe.events]
    assert record["attributes"]["MessageGroupId"] == "a"
    assert record["attributes"]["MessageDeduplicationId"] == "a1"
    assert record["attributes"]["SequenceNumber"].isdigit()


def test_a_batch_is_one_group_in_its_order() -> None:
    feed = Feed(Probe(failing()))
    feed.send("a1", "b1", "a2", "b2")

    feed.poll_until_dry()

    assert feed.batches == [["a1", "a2"], ["b1", "b2"]]


def test_groups_run_beside_one_another_and_none_beside_itself() -> None:
    feed = Feed(Probe(failing()), batch_size=1)
    feed.send("a1", "a2", "b1")

    first, second, third = (feed.mapping.claim() for _ in range(3))

    assert first
    assert second
    assert third is None
    second()
    first()
    feed.poll_until_dry()
    assert feed.batches == [["b1"], ["a1"], ["a2"]]


def test_a_batch_may_hold_several_groups_where_aws_takes_that_freedom() -> None:
    feed = Feed(Probe(failing()))
    feed.aws.switches.mixed_groups = True
    feed.send("a1", "b1", "a2")

    feed.poll_until_dry()

    assert feed.batches == [["a1", "a2", "b1"]]


def test_reported_failures_come_again_in_order_and_block_what_is_behind_them() -> None:
    feed = Feed(Probe(failing_bodies("a1", "a2", "a3"), failing()))
    feed.send("a1", "a2", "a3")
    feed.poll()
    feed.send("a4", "b1")

    feed.poll_until_dry()
    assert feed.batches[1:] == [["b1"]]
    feed.time.advance(VISIBILITY)
    feed.poll_until_dry()

    assert feed.batches[2:] == [["a1", "a2", "a3", "a4"]]
    assert feed.left() == []


def test_a_handler_that_goes_on_past_a_failure_loses_the_order() -> None:
    feed = Feed(Probe(failing_bodies("a1"), failing()))
    feed.send("a1", "a2")

    feed.poll()
    feed.time.advance(VISIBILITY)
    feed.poll()

    assert feed.batches == [["a1", "a2"], ["a1"]]


def test_followers_handed_out_with_a_poison_head_spend_their_receives_too() -> None:
    feed = Feed(Probe(failing_bodies("a0", "a1", "a2")))
    feed.send("a0", "a1", "a2")

    for _ in range(MAX_RECEIVES + 1):
        feed.poll()
        feed.time.advance(VISIBILITY)

    assert feed.left("dead.fifo") == ["a0", "a1", "a2"]


def test_broken_call_fails_the_whole_batch_in_order() -> None:
    feed = Feed(Probe(RuntimeError("x"), failing()))
    feed.send("a1", "a2")

    feed.poll()
    feed.time.advance(VISIBILITY)
    feed.poll()

    assert feed.batches == [["a1", "a2"], ["a1", "a2"]]


def test_what_was_done_after_its_lease_had_ended_comes_again() -> None:
    probe = Probe()
    feed = Feed(probe)

    def slow(_event: Any, _context: Any) -> Any:
        feed.time.advance(VISIBILITY)
        return failing()

    probe._answers[:] = [slow, failing()]
    feed.send("a1")

    feed.poll_until_dry()

    assert feed.batches == [["a1"], ["a1"]]
    assert feed.left() == []


@pytest.mark.parametrize("settings", [{"batch_size": 11}, {"window": 1}])
def test_what_lambda_does_not_take_for_fifo_queues_is_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="FIFO"):
        Feed(Probe(), **settings)
