"""What the relay promises: in order, confirmed before marked, nothing lost, neighbours unharmed."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from botocore.stub import Stubber

from handlers.postroom.aws.stream_entry import stream_record
from handlers.postroom.aws.tables import DynamoStore
from handlers.postroom.aws.topic import SnsTopic
from handlers.postroom.errors import Permanent, Transient
from handlers.postroom.outbox import REFUSED, attributes
from handlers.postroom.relay import (
    BATCH_BYTES,
    Entry,
    OutboxRow,
    Rejection,
    Relay,
    StreamRecord,
    batches,
    relay_stream,
)
from handlers.postroom.storage import Delete, Key, Put
from handlers.postroom.sweep import Sweep

from .conftest import NOW, World, client, thing


@dataclass
class ScriptedTopic:
    """Takes everything, unless told otherwise for the next calls."""

    answers: list[Exception | Sequence[Rejection]] = field(default_factory=list)
    published: list[str] = field(default_factory=list)
    publications: list[str] = field(default_factory=list)
    calls: int = 0

    def publish(self, entries: Sequence[Entry]) -> Sequence[Rejection]:
        self.calls += 1
        answer = self.answers.pop(0) if self.answers else []
        if isinstance(answer, Exception):
            raise answer
        rejected = {rejection.index for rejection in answer}
        taken = [entry for index, entry in enumerate(entries) if index not in rejected]
        self.published += [json.loads(entry.message)["id"] for entry in taken]
        self.publications += [entry.publication for entry in taken]
        return answer


@pytest.fixture
def topic() -> ScriptedTopic:
    return ScriptedTopic()


@pytest.fixture
def relay(world: World, topic: ScriptedTopic) -> Relay:
    around = world.deployment
    return Relay(topic, world.store, around.new_id, around.sleep, around.chance)


def born(world: World, *numbers: int, age_seconds: float = 0) -> list[StreamRecord]:
    """Rows as checkout writes them, and their stream records."""
    records = []
    for number in numbers:
        event = thing(number)
        key = Key("shop", event.aggregate, "entity")
        born_at = NOW.timestamp() - age_seconds
        item = {**attributes(event), "bornAt": int(born_at * 1000)}
        world.store.write(Put(key, item))
        records.append(StreamRecord(str(number), OutboxRow(key, event.to_json()), born_at))
    world.forget_calls()
    return records


def unpublished(world: World) -> list[str]:
    items = client("dynamodb").scan(TableName="Shop")["Items"]
    return sorted(item["pk"]["S"] for item in items if "unpublished" in item)


def test_ten_events_are_one_publish_and_one_call_that_marks_all(world: World) -> None:
    from handlers.stream_relay import handler

    records = born(world, *range(10))
    raw = [_lambda_record(record) for record in records]

    answer = handler.on(world.deployment)({"Records": raw}, None)  # type: ignore[arg-type]

    assert answer == {"batchItemFailures": []}
    assert world.calls == ["PublishBatch", "BatchExecuteStatement"]
    assert unpublished(world) == []


def test_first_run_fails_and_marks_nothing_second_publishes_third_has_nothing_left(
    world: World, relay: Relay, topic: ScriptedTopic
) -> None:
    topic.answers = [Transient("broker unreachable")] * 3
    records = born(world, 1002)

    assert relay_stream(records, relay, NOW.timestamp()) == "1002"
    assert (topic.published, unpublished(world)) == ([], ["thing-1002"])

    assert relay_stream(records, relay, NOW.timestamp()) is None
    assert (topic.published, unpublished(world)) == (["thing-1002-done"], [])

    assert Sweep(relay).run(NOW.timestamp() + 3_600).rows == 0
    assert topic.published == ["thing-1002-done"]


def test_a_call_that_the_topic_will_never_take_is_taken_apart_and_only_its_culprit_set_aside(
    world: World, relay: Relay, topic: ScriptedTopic
) -> None:
    records = born(world, *range(3))
    refusal = Permanent("BatchRequestTooLong")
    topic.answers = [refusal, [], refusal, []]

    assert relay_stream(records, relay, NOW.timestamp()) is None

    assert topic.published == ["thing-0-done", "thing-2-done"]
    [refused] = world.store.outstanding(REFUSED, int(NOW.timestamp() * 1000) + 1, 10)
    assert refused.pk == "thing-1"


@pytest.mark.parametrize(
    ("code", "expected"),
    [("BatchRequestTooLong", Permanent), ("InvalidParameter", Transient), ("NotFound", Transient)],
)
def test_only_what_is_about_the_messages_condemns_them(
    world: World, code: str, expected: type[Exception]
) -> None:
    """A mistake in the topic's name would else set aside all that there is."""
    with Stubber(world.deployment.client("sns")) as sns:
        sns.add_client_error("publish_batch", service_error_code=code, http_status_code=400)

        with pytest.raises(expected):
            SnsTopic(world.deployment).publish([Entry("{}", "thing.done", "p1")])


def test_a_row_that_is_refused_and_gone_holds_up_nobody(
    world: World, relay: Relay, topic: ScriptedTopic
) -> None:
    records = born(world, *range(3))
    world.store.write(Delete(records[1].row.key))
    topic.answers = [[Rejection(1, True, "InvalidParameter")]]

    assert relay_stream(records, relay, NOW.timestamp()) is None

    assert topic.published == ["thing-0-done", "thing-2-done"]
    assert unpublished(world) == []


def test_it_stops_at_the_first_failure_and_says_where_to_rewind(
    world: World, relay: Relay, topic: ScriptedTopic
) -> None:
    records = born(world, *range(25))
    topic.answers = [[], Transient("down"), Transient("down"), Transient("down")]

    assert relay_stream(records, relay, NOW.timestamp()) == "10"  # STREAM-1

    assert len(topic.published) == 10
    assert len(unpublished(world)) == 15


def test_one_entry_that_fails_for_a_moment_is_sent_again_alone(
    world: World, relay: Relay, topic: ScriptedTopic
) -> None:
    records = born(world, *range(4))
    topic.answers = [[Rejection(1, by_sender=False, reason="InternalError")]]

    assert relay_stream(records, relay, NOW.timestamp()) is None  # SQS-1

    assert topic.published == ["thing-0-done", "thing-2-done", "thing-3-done", "thing-1-done"]
    assert topic.calls == 2


def test_a_row_that_the_topic_will_never_take_is_set_aside_and_its_neighbours_go_out(
    world: World, relay: Relay, topic: ScriptedTopic
) -> None:
    records = born(world, *range(3))
    topic.answers = [[Rejection(1, by_sender=True, reason="InvalidParameter: too long")]]

    assert relay_stream(records, relay, NOW.timestamp()) is None  # STREAM-3

    assert topic.published == ["thing-0-done", "thing-2-done"]
    row = world.store.read([records[1].row.key])[records[1].row.key]
    assert (row["unpublished"], row["refusal"]) == ("refused", "InvalidParameter: too long")


def test_a_row_whose_event_is_no_event_is_set_aside(world: World, relay: Relay, topic: ScriptedTopic) -> None:
    records = born(world, 1, 2)
    broken = replace(records[0], row=OutboxRow(records[0].row.key, '{"id":'))

    assert relay_stream([broken, records[1]], relay, NOW.timestamp()) is None

    assert topic.published == ["thing-2-done"]
    assert unpublished(world) == ["thing-1"]


def test_a_relay_back_from_an_outage_repeats_nothing_that_the_sweep_has_sent(
    world: World, relay: Relay, topic: ScriptedTopic
) -> None:
    records = born(world, *range(5), age_seconds=3_600)
    assert Sweep(relay).run(NOW.timestamp()).rows == 5
    topic.published.clear()

    assert relay_stream(records, relay, NOW.timestamp()) is None

    assert topic.published == []


def test_the_sweep_leaves_young_rows_to_the_relay(world: World, relay: Relay, topic: ScriptedTopic) -> None:
    born(world, 1, age_seconds=59)

    assert Sweep(relay).run(NOW.timestamp()).rows == 0
    assert topic.published == []


def test_a_crash_between_publish_and_mark_publishes_again_with_the_same_event_id(
    world: World, topic: ScriptedTopic, relay: Relay
) -> None:
    class Unmarkable(DynamoStore):
        def mark_published(self, keys: Sequence[Key]) -> None:
            raise Transient("down")

    records = born(world, 1)
    assert relay_stream(records, replace(relay, outbox=Unmarkable(world.deployment)), NOW.timestamp()) is None
    assert Sweep(relay).run(NOW.timestamp() + 61).rows == 1

    assert topic.published == ["thing-1-done", "thing-1-done"]  # STREAM-5
    assert len(set(topic.publications)) == 2


def _lambda_record(record: StreamRecord, name: str = "INSERT") -> dict[str, Any]:
    keys = {"pk": {"S": record.row.key.pk}, "sk": {"S": record.row.key.sk}}
    return {
        "eventName": name,
        "dynamodb": {
            "Keys": keys,
            "NewImage": {**keys, "event": {"S": record.row.event}},
            "SequenceNumber": record.sequence_number,
            "ApproximateCreationDateTime": record.born_at,
        },
    }


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"eventName": "MODIFY"}, id="modify"),
        pytest.param(
            {
                "eventName": "REMOVE",
                "userIdentity": {"principalId": "dynamodb.amazonaws.com", "type": "Service"},
            },
            id="STREAM-2-ttl-removal",
        ),
    ],
)
def test_only_inserts_wake_the_relay(change: dict[str, Any]) -> None:
    record = StreamRecord("1", OutboxRow(Key("shop", "thing-1", "entity"), thing(1).to_json()), 0.0)

    assert stream_record({**_lambda_record(record), **change}) is None
    assert stream_record(_lambda_record(record)) == record


def test_a_removal_without_an_image_and_an_insert_without_an_event_are_skipped() -> None:
    keys = {"pk": {"S": "customer-1"}, "sk": {"S": "points-1"}}
    removal = {"eventName": "REMOVE", "dynamodb": {"Keys": keys, "SequenceNumber": "1", "OldImage": {}}}
    insert = {"eventName": "INSERT", "dynamodb": {"Keys": keys, "SequenceNumber": "1", "NewImage": keys}}

    assert stream_record(removal) is None
    assert stream_record(insert) is None


def rows_of(*sizes: int) -> list[OutboxRow]:
    return [OutboxRow(Key("shop", str(n), "entity"), "x" * size) for n, size in enumerate(sizes)]


def test_batches_respect_ten_entries_and_the_byte_limit_and_keep_order() -> None:
    by_count = [(start, len(batch)) for start, batch in batches(rows_of(*[10] * 15))]
    by_size = [(start, len(batch)) for start, batch in batches(rows_of(*[BATCH_BYTES // 2] * 5))]

    assert by_count == [(0, 10), (10, 5)]  # SQS-4
    assert by_size == [(0, 2), (2, 2), (4, 1)]
