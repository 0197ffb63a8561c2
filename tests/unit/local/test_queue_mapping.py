from __future__ import annotations

import json
from typing import Any

import pytest

from infra.local.aws import LocalAws, ManualClock
from infra.local.queue_mapping import QueueMapping, QueueMappingSettings
from infra.local.sources import ModelQueue
from tests.unit.local.functions import Probe, failing

VISIBILITY = 30


class Feed:
    """A queue of the model, mapped to a probe."""

    def __init__(self, probe: Probe, **settings: Any) -> None:
        self.time = ManualClock(probe.clock.now)
        self.aws = LocalAws(self.time)
        self.client = self.aws.session().client("sqs")
        self.url = self.client.create_queue(
            QueueName="work", Attributes={"VisibilityTimeout": str(VISIBILITY)}
        )["QueueUrl"]
        self.queue = self.aws.sqs.queue("work")
        self.probe = probe
        self.mapping = QueueMapping(
            "Mapping",
            ModelQueue(self.aws.region, self.queue),
            probe.function,
            QueueMappingSettings(**{"reports_failures": True, **settings}),
            "eu-west-1",
            probe.stopping,
        )

    def send(self, *bodies: str, **attributes: str) -> list[str]:
        named: Any = {
            name: {"DataType": "String", "StringValue": value} for name, value in attributes.items()
        }
        return [
            self.client.send_message(QueueUrl=self.url, MessageBody=body, MessageAttributes=named)[
                "MessageId"
            ]
            for body in bodies
        ]

    def poll(self) -> int:
        work = self.mapping.claim()
        return work() if work else 0

    @property
    def counts(self) -> tuple[int, int, int]:
        """Waiting, in flight, delayed."""
        return self.queue.counts()

    @property
    def records(self) -> list[Any]:
        return [record for event in self.probe.events for record in event["Records"]]


def test_record_has_the_shape_that_lambda_documents() -> None:
    feed = Feed(Probe(failing()))
    (message_id,) = feed.send("hello", type="order.paid")

    feed.poll()

    (record,) = feed.records
    sent = str(int(feed.time.now() * 1000))
    assert record == {
        "messageId": message_id,
        "receiptHandle": record["receiptHandle"],
        "body": "hello",
        "attributes": {
            "ApproximateReceiveCount": "1",
            "SentTimestamp": sent,
            "SenderId": record["attributes"]["SenderId"],
            "ApproximateFirstReceiveTimestamp": sent,
        },
        "messageAttributes": {
            "type": {
                "stringValue": "order.paid",
                "dataType": "String",
                "stringListValues": [],
                "binaryListValues": [],
            }
        },
        "md5OfBody": "5d41402abc4b2a76b9719d911017c592",
        "eventSource": "aws:sqs",
        "eventSourceARN": "arn:aws:sqs:eu-west-1:123456789012:work",
        "awsRegion": "eu-west-1",
    }


def test_success_deletes_the_batch() -> None:
    feed = Feed(Probe(failing()))
    feed.send("a", "b")

    assert feed.poll() == 2
    assert feed.counts == (0, 0, 0)


def test_reported_failures_stay_and_the_rest_is_deleted() -> None:
    feed = Feed(Probe(lambda event, _: failing(event["Records"][0]["messageId"])))
    feed.send("a", "b", "c")

    feed.poll()

    assert feed.counts == (0, 1, 0)


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(RuntimeError("x"), id="exception"),
        pytest.param(failing("foreign"), id="foreign-id"),
        pytest.param({"batchItemFailures": [{"itemIdentifier": ""}]}, id="empty-id"),
        pytest.param("ok", id="no-object"),
        pytest.param({"x": {1}}, id="not-json"),
    ],
)
def test_broken_call_fails_the_whole_batch_until_the_visibility_timeout(answer: Any) -> None:
    feed = Feed(Probe(answer, failing()))
    feed.send("a", "b")

    feed.poll()
    feed.time.advance(VISIBILITY - 0.001)
    early = feed.poll()
    feed.time.advance(0.001)
    feed.poll()

    assert early == 0
    assert [record["attributes"]["ApproximateReceiveCount"] for record in feed.records] == [
        "1",
        "1",
        "2",
        "2",
    ]
    assert feed.counts == (0, 0, 0)


def test_call_that_overran_its_time_limit_fails_whatever_it_answered() -> None:
    probe = Probe(timeout=3)

    def slow(_event: Any, _context: Any) -> Any:
        probe.clock.now += 3.1
        return failing()

    probe._answers[:] = [slow]
    feed = Feed(probe)
    feed.send("a")

    feed.poll()

    assert feed.counts == (0, 1, 0)


@pytest.mark.parametrize("answer", [failing("any"), None, "ok"])
def test_batch_4_without_report_batch_item_failures_everything_is_deleted_when_the_function_returns(
    answer: Any,
) -> None:
    feed = Feed(Probe(answer), reports_failures=False)
    feed.send("a", "b")

    feed.poll()

    assert feed.counts == (0, 0, 0)


def test_visibility_that_the_function_sets_decides_when_a_failure_returns() -> None:
    def back_off(event: Any, _context: Any) -> Any:
        record = event["Records"][0]
        feed.client.change_message_visibility(
            QueueUrl=feed.url, ReceiptHandle=record["receiptHandle"], VisibilityTimeout=2
        )
        return failing(record["messageId"])

    feed = Feed(Probe(back_off))
    feed.send("a")
    feed.poll()

    feed.time.advance(1.999)
    assert feed.poll() == 0
    feed.time.advance(0.001)
    assert feed.poll() == 1


@pytest.mark.parametrize(("size", "batches"), [(10, [10, 10, 3]), (4, [4, 4, 4, 4, 4, 3]), (25, [23])])
def test_batches_are_as_large_as_the_batch_size_allows(size: int, batches: list[int]) -> None:
    feed = Feed(Probe(failing()), batch_size=size)
    feed.send(*map(str, range(23)))

    while feed.poll():
        pass

    assert [len(event["Records"]) for event in feed.probe.events] == batches


def test_batching_window_waits_for_more() -> None:
    feed = Feed(Probe(failing()), batch_size=10, window=5)
    feed.mapping._wait = lambda seconds: feed.send(f"came within {seconds} s")
    feed.send("first")

    feed.poll()

    assert [record["body"] for record in feed.records] == ["first", "came within 5 s"]


def test_messages_that_the_filter_does_not_let_through_are_deleted_unseen() -> None:
    feed = Feed(Probe(failing()), patterns=(json.dumps({"body": {"type": ["order.paid"]}}),))
    feed.send(json.dumps({"type": "order.paid"}), json.dumps({"type": "other"}), "no json")

    feed.poll()

    assert [json.loads(record["body"])["type"] for record in feed.records] == ["order.paid"]
    assert feed.counts == (0, 0, 0)


def test_nothing_is_received_while_stopping() -> None:
    feed = Feed(Probe())
    feed.send("a")
    feed.probe.stopping.set()

    assert feed.poll() == 0
    assert feed.counts == (1, 0, 0)


def test_batch_claimed_but_not_begun_is_given_back_when_the_run_stops() -> None:
    feed = Feed(Probe())
    feed.send("a", "b")
    work = feed.mapping.claim()
    assert work
    feed.probe.stopping.set()

    assert work() == 0
    assert feed.counts == (2, 0, 0)
    assert feed.probe.events == []


def test_what_the_mapping_does_is_no_call_of_the_account() -> None:
    feed = Feed(Probe(failing()))
    feed.send("a")

    with feed.aws.metered() as calls:
        feed.poll()

    assert calls == []
