"""Waits of hours: they stand in the table, the message is gone meanwhile, and none is lost or doubled."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from handlers.postroom import outbox
from handlers.postroom.consumer import Consumer
from handlers.postroom.errors import PostroomError, Transient
from handlers.postroom.jobs import Call, Job, call_job
from handlers.postroom.later import DuePublisher
from handlers.postroom.records import PUT_OFF, Outcome, Record
from handlers.postroom.relay import Entry, Rejection
from handlers.postroom.retries import Jitter, RetryPolicy
from handlers.postroom.settlement import Surroundings
from handlers.postroom.storage import Key
from tests.engine.conftest import THING_DONE, ThingDone, thing
from tests.fakes import FakeStore, failing, meanwhile

EVENT = thing()
ROW = THING_DONE.row_key(EVENT.id)
JOB = Key("jobs", EVENT.id, "far")
HOURS = RetryPolicy(attempts=4, steps_ms=(5_000, 900_000, 86_400_000), jitter=Jitter.NONE)


@call_job("far", on=THING_DONE, retry=HOURS, waits_in_table=True)
def call_far(job: Job[ThingDone]) -> Call[Any]:
    return Call(lambda provider: {"said": provider()})


@dataclass
class Queue:
    """Messages as the topic would hand them to the one subscriber."""

    entries: list[Entry] = field(default_factory=list)
    rejects: bool = False
    error: PostroomError | None = None

    def publish(self, entries: Sequence[Entry]) -> Sequence[Rejection]:
        if self.error:
            raise self.error
        if self.rejects:
            return [Rejection(index, False, "busy") for index in range(len(entries))]
        self.entries += entries
        return []


@dataclass
class Place:
    store: FakeStore = field(default_factory=FakeStore)
    topic: Queue = field(default_factory=Queue)
    now: float = EVENT.time.timestamp()
    is_down: bool = True
    numbers: int = 0
    unreadable: frozenset[str] = frozenset()

    def due(self, shard: str, before_ms: int, limit: int) -> list[Key]:
        if shard in self.unreadable:
            raise Transient("the database cannot be reached")
        rows = [(item["dueAt"], key) for key, item in self.store.items.items() if item.get("due") == shard]
        return [key for due_at, key in sorted(rows) if due_at <= before_ms][:limit]

    def deliver(self, message: str, receives: int = 1) -> Outcome:
        around = Surroundings(self.store, lambda: self.now, lambda: 0.0, lambda _: None)
        record = Record(message, "handle", EVENT.to_json(), receives, self.now, f"of-{message}")
        consumer = Consumer(call_far, around, lambda call: call.fn(self._answer))
        return consumer.handle([record], lambda: 30_000)[message]

    def publish_due(self, remaining_ms: int = 30_000) -> int:
        publisher = DuePublisher(self.topic, self.store, self, self._id)
        return publisher.run(self.now, lambda: remaining_ms)

    def _answer(self) -> str:
        if self.is_down:
            raise Transient("out of reach")
        return "yes"

    def _id(self) -> str:
        self.numbers += 1
        return f"publication-{self.numbers}"


@pytest.fixture
def place() -> Place:
    place = Place()
    place.store.put(ROW, **outbox.attributes(EVENT))
    return place


def put_off(place: Place) -> None:
    for receives in (1, 2):
        place.deliver("m1", receives)
    assert place.deliver("m1", 3) == PUT_OFF


def test_short_waits_are_the_messages_own_and_a_long_one_is_the_tables(place: Place) -> None:
    outcomes = [place.deliver("m1", receives) for receives in (1, 2, 3)]

    assert outcomes == [Outcome("retrying", 5), Outcome("retrying", 900), PUT_OFF]
    assert place.store.items[ROW]["dueAt"] == int((place.now + 86_400) * 1000)
    assert place.store.items[JOB]["state"] == "retrying"
    assert place.store.items[JOB]["attempts"] == 3


def test_what_is_due_is_published_again_once_and_counts_on(place: Place) -> None:
    put_off(place)
    place.now += 86_399
    assert place.publish_due() == 0

    place.now += 1
    assert (place.publish_due(), place.publish_due()) == (1, 0)

    assert [(entry.message, entry.publication) for entry in place.topic.entries] == [
        (EVENT.to_json(), "publication-1")
    ]
    place.is_down = False
    assert place.deliver("m2").name == "completed"
    assert place.store.items[JOB]["attempts"] == 4
    assert not {"due", "dueAt"} & place.store.items[ROW].keys()


def test_the_last_failure_is_death_however_far_it_waited(place: Place) -> None:
    put_off(place)
    place.now += 86_400
    place.publish_due()

    assert place.deliver("m2").name == "dead"
    assert len(place.store.items[JOB]["failures"]) == 4


def test_a_job_that_fails_again_before_its_mark_is_cleared_keeps_its_new_due_time(place: Place) -> None:
    put_off(place)
    place.now += 86_400
    later = int((place.now + 999) * 1000)
    place.store.faults.on("write", meanwhile(lambda: place.store.items[ROW].update(dueAt=later)))

    assert place.publish_due() == 1

    assert place.store.items[ROW]["dueAt"] == later


@pytest.mark.parametrize("trouble", [{"rejects": True}, {"error": Transient("no topic")}])
def test_what_the_topic_does_not_take_is_still_due(place: Place, trouble: dict[str, Any]) -> None:
    put_off(place)
    place.now += 86_400
    vars(place.topic).update(trouble)

    assert place.publish_due() == 0

    vars(place.topic).update(rejects=False, error=None)
    assert place.publish_due() == 1


def test_a_shard_that_cannot_be_read_holds_up_no_other(place: Place) -> None:
    put_off(place)
    place.now += 86_400
    others = [shard for shard in outbox.shards() if shard != place.store.items[ROW]["due"]]
    place.unreadable = frozenset(others)

    assert place.publish_due() == 1


def test_without_time_left_nothing_is_begun(place: Place) -> None:
    put_off(place)
    place.now += 86_400

    assert place.publish_due(remaining_ms=9_999) == 0
    assert place.topic.entries == []


def test_where_the_table_cannot_take_it_over_the_message_waits_itself(place: Place) -> None:
    for receives in (1, 2):
        place.deliver("m1", receives)
    place.store.faults.on("write", lambda perform: perform(), failing(Transient("busy")))

    assert place.deliver("m1", 3) == Outcome("retrying", 43_200)


def test_an_event_whose_row_has_expired_waits_in_its_message(place: Place) -> None:
    for receives in (1, 2):
        place.deliver("m1", receives)
    del place.store.items[ROW]

    assert place.deliver("m1", 3) == Outcome("retrying", 43_200)
    assert ROW not in place.store.items
