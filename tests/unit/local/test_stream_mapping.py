from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from infra.local.discards import Discard
from infra.local.stream_mapping import Record, StreamMapping, StreamMappingSettings
from tests.unit.local.functions import Probe, failing


class Log:
    """A stream with one record a second."""

    arn = "arn:aws:dynamodb:eu-west-1:1:table/T/stream/x"

    def __init__(self, count: int, start: float, name: str = "INSERT") -> None:
        self.records = [_record(number, start + number, name) for number in range(count)]

    def latest(self) -> int:
        return len(self.records)

    def read(self, position: int | None, limit: int) -> tuple[Sequence[Record], int]:
        start = position or 0
        found = self.records[start : start + limit]
        return found, start + len(found)


def _record(number: int, at: float, name: str) -> Record:
    return {
        "eventName": name,
        "dynamodb": {"SequenceNumber": str(number), "ApproximateCreationDateTime": at},
    }


class Mapping:
    def __init__(self, probe: Probe, records: int = 4, **settings: Any) -> None:
        self.log = Log(records, probe.clock.now)
        self.discards: list[Discard] = []
        self.clock = probe.clock
        self.probe = probe
        self.mapping = StreamMapping(
            "Mapping",
            self.log,
            probe.function,
            StreamMappingSettings(**{"reports_failures": True, **settings}),
            probe.clock,
            self.discards.append,
            probe.stopping,
        )

    def poll(self) -> int:
        work = self.mapping.claim()
        return work() if work else 0

    def run(self) -> list[list[str]]:
        """Poll, letting each retry's time come, until the stream is read. Returns the batches handed over."""
        while self.poll() or self.mapping.next_due():
            self.clock.now = self.mapping.next_due() or self.clock.now
        return [
            [record["dynamodb"]["SequenceNumber"] for record in event["Records"]]
            for event in self.probe.events
        ]


def test_batches_are_in_order_and_of_the_batch_size() -> None:
    mapping = Mapping(Probe(), records=5, batch_size=2)

    assert mapping.run() == [["0", "1"], ["2", "3"], ["4"]]


def test_records_that_the_filter_drops_never_wake_the_function() -> None:
    mapping = Mapping(Probe(), records=3, patterns=(json.dumps({"eventName": ["INSERT"]}),))
    mapping.log.records[0]["eventName"] = "MODIFY"
    mapping.log.records[2]["eventName"] = "REMOVE"

    assert mapping.run() == [["1"]]


def test_latest_starts_after_what_is_there() -> None:
    mapping = Mapping(Probe(), records=2, from_start=False)
    mapping.log.records.append(_record(2, mapping.clock.now, "INSERT"))

    assert mapping.run() == [["2"]]


def test_partial_failure_rewinds_to_the_lowest_failed_number_and_repeats_what_follows() -> None:
    mapping = Mapping(Probe(failing("2", "1"), failing()), records=4)

    assert mapping.run() == [["0", "1", "2", "3"], ["1", "2", "3"]]


def test_failed_batch_waits_longer_from_retry_to_retry_and_blocks_the_shard() -> None:
    mapping = Mapping(Probe(failing("0")), records=1, batch_size=1)
    start = mapping.clock.now
    waits = []

    for _ in range(8):
        mapping.poll()
        waits.append((mapping.mapping.next_due() or 0) - mapping.clock.now)
        assert mapping.poll() == 0
        mapping.clock.now = mapping.mapping.next_due() or 0

    assert waits == [1, 2, 4, 8, 16, 32, 60, 60]
    assert mapping.clock.now - start == sum(waits)


def test_error_of_the_function_bisects_until_the_culprit_is_alone() -> None:
    def crash(event: Any, _context: Any) -> Any:
        if any(record["dynamodb"]["SequenceNumber"] == "2" for record in event["Records"]):
            raise RuntimeError("record 2")
        return failing()

    mapping = Mapping(Probe(crash), records=4, bisects=True, retries=0)

    assert mapping.run() == [["0", "1", "2", "3"], ["0", "1"], ["2", "3"], ["2"], ["3"]]
    assert [(lost.first, lost.last) for lost in mapping.discards] == [("2", "2")]


def test_without_bisect_the_whole_batch_is_given_up_when_its_retries_are_spent() -> None:
    mapping = Mapping(
        Probe(RuntimeError("x"), RuntimeError("x"), failing()), records=3, batch_size=2, retries=1
    )

    assert mapping.run() == [["0", "1"], ["0", "1"], ["2"]]
    assert [(lost.condition, lost.records, lost.invocations) for lost in mapping.discards] == [
        ("RetryAttemptsExhausted", 2, 2)
    ]


def test_progress_starts_the_retries_again() -> None:
    mapping = Mapping(Probe(failing("1"), failing("2"), failing("3"), failing()), records=4, retries=1)

    assert mapping.run() == [["0", "1", "2", "3"], ["1", "2", "3"], ["2", "3"], ["3"]]
    assert mapping.discards == []


def test_records_past_their_age_are_given_up_and_younger_ones_go_on() -> None:
    mapping = Mapping(Probe(RuntimeError("x"), failing()), records=2, record_age=60)
    mapping.poll()

    mapping.clock.now += 60.5
    mapping.poll()

    assert [record["dynamodb"]["SequenceNumber"] for record in mapping.probe.events[1]["Records"]] == ["1"]
    assert [(lost.condition, lost.first, lost.last) for lost in mapping.discards] == [
        ("RecordAgeExceeded", "0", "0")
    ]


@pytest.mark.parametrize("answer", [failing("foreign"), {"batchItemFailures": [{"itemIdentifier": ""}]}])
def test_malformed_answer_repeats_the_whole_batch(answer: Any) -> None:
    mapping = Mapping(Probe(answer, failing()), records=2)

    assert mapping.run() == [["0", "1"], ["0", "1"]]


def test_without_report_batch_item_failures_an_answer_is_success_whatever_it_says() -> None:
    mapping = Mapping(Probe(failing("0")), records=2, reports_failures=False)

    assert mapping.run() == [["0", "1"]]


def test_nothing_is_claimed_while_stopping() -> None:
    mapping = Mapping(Probe(), records=2)
    mapping.probe.stopping.set()

    assert mapping.poll() == 0
    assert mapping.probe.events == []


def test_destination_message_has_the_documented_shape() -> None:
    lost = Discard(
        request_id="req-1",
        function_arn="arn:f",
        condition="RetryAttemptsExhausted",
        invocations=3,
        answered=True,
        at=1573690417.5,
        stream_arn="arn:s",
        first="1",
        last="9",
        first_arrival=1573690000.0,
        last_arrival=1573690001.25,
        records=4,
    )

    assert json.loads(lost.to_json()) == {
        "requestContext": {
            "requestId": "req-1",
            "functionArn": "arn:f",
            "condition": "RetryAttemptsExhausted",
            "approximateInvokeCount": 3,
        },
        "responseContext": {"statusCode": 200, "executedVersion": "$LATEST"},
        "version": "1.0",
        "timestamp": "2019-11-14T00:13:37.500Z",
        "DDBStreamBatchInfo": {
            "shardId": "shardId-00000000000000000000-00000000",
            "startSequenceNumber": "1",
            "endSequenceNumber": "9",
            "approximateArrivalOfFirstRecord": "2019-11-14T00:06:40.000Z",
            "approximateArrivalOfLastRecord": "2019-11-14T00:06:41.250Z",
            "batchSize": 4,
            "streamArn": "arn:s",
        },
    }
