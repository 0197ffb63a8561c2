"""One event again for one subscriber, and how far publishing is behind."""

import json
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import pytest

from handlers.postroom import outbox
from handlers.postroom.aws.queue_entry import queue_handler
from handlers.postroom.aws.subscriber_queue import SqsSubscriberQueue
from handlers.postroom.errors import NotFound, Permanent, Transient
from handlers.postroom.events import Event
from handlers.postroom.jobs import Commit, Job, commit_job
from handlers.postroom.outbox import Lag, lag
from handlers.postroom.republish import OLDEST_SECONDS, Republisher, Sent, TooOld
from handlers.postroom.storage import Key, Put, Update

from .conftest import NOW, THING_DONE, Invocation, ThingDone, World, thing


@dataclass
class Subscriber:
    """A subscriber whose queue is on moto, and whose runs fail while it is `broken`."""

    world: World
    broken: bool = False

    def __post_init__(self) -> None:
        self.url = self.world.sqs.create_queue(QueueName="stack-points")["QueueUrl"]

        @commit_job("points", on=THING_DONE)
        def credit(job: Job[ThingDone]) -> Commit:
            if self.broken:
                raise Permanent("no such customer")
            return Commit([Put(Key("shop", job.data.customer, f"points-{job.event.id}"), {"points": 204})])

        self.job_type = credit

    @property
    def republisher(self) -> Republisher:
        around = self.world.deployment
        return Republisher(
            self.world.store,
            lambda to: SqsSubscriberQueue(around, to.subscriber),
            around.new_id,
            around.clock,
        )

    def save(self, event: Event[ThingDone]) -> None:
        item = {**outbox.attributes(event), "owner": event.owner}
        self.world.store.write(Put(THING_DONE.row_key(event.id), item))

    def send(self, event_id: str = "thing-1001-done", *, reopen: bool = False) -> Sent:
        self.world.time.now += 60
        return self.republisher.send(event_id, self.job_type, reopen=reopen)

    def work(self) -> int:
        """Receive what is there and hand it over as Lambda does; returns how many messages that were."""
        answer = self.world.sqs.receive_message(
            QueueUrl=self.url, MaxNumberOfMessages=10, MessageAttributeNames=["All"]
        )
        messages = answer.get("Messages", [])
        records = [self._record(message) for message in messages]
        queue_handler(self.job_type).on(self.world.deployment)({"Records": records}, Invocation())
        for message in messages:
            self.world.sqs.delete_message(QueueUrl=self.url, ReceiptHandle=message["ReceiptHandle"])
        return len(messages)

    def _record(self, message: Any) -> dict[str, Any]:
        told = {
            name: {"stringValue": value["StringValue"], "dataType": "String"}
            for name, value in message["MessageAttributes"].items()
        }
        sent_ms = str(int(self.world.time.now * 1000))
        return {
            "messageId": message["MessageId"],
            "receiptHandle": message["ReceiptHandle"],
            "body": message["Body"],
            "attributes": {"ApproximateReceiveCount": "1", "SentTimestamp": sent_ms},
            "messageAttributes": told,
        }

    @property
    def state(self) -> str:
        return str(self.world.job().get("state"))


@pytest.fixture
def subscriber(world: World) -> Subscriber:
    subscriber = Subscriber(world)
    subscriber.save(thing())
    return subscriber


def died(subscriber: Subscriber) -> Subscriber:
    subscriber.broken = True
    subscriber.send()
    subscriber.work()
    assert subscriber.state == "dead"
    subscriber.broken = False
    return subscriber


def test_the_event_arrives_as_it_was_stored_with_a_publication_of_its_own(subscriber: Subscriber) -> None:
    sent = [subscriber.send(), subscriber.send()]

    messages = subscriber.world.sqs.receive_message(
        QueueUrl=subscriber.url, MaxNumberOfMessages=10, MessageAttributeNames=["All"]
    )["Messages"]
    assert {message["Body"] for message in messages} == {thing().to_json()}
    assert {message["MessageId"] for message in messages} == {each.message_id for each in sent}
    publications = {m["MessageAttributes"]["publication"]["StringValue"] for m in messages}
    assert publications == {each.publication for each in sent}
    assert {m["MessageAttributes"]["type"]["StringValue"] for m in messages} == {"thing.done"}


def test_an_event_that_a_subscriber_never_saw_takes_effect(subscriber: Subscriber) -> None:
    subscriber.send()
    subscriber.work()

    assert subscriber.state == "completed"


def test_by_itself_it_does_not_reopen_a_dead_job(subscriber: Subscriber) -> None:
    died(subscriber).send()

    assert subscriber.work() == 1
    assert subscriber.state == "dead"


def test_an_event_of_a_line_is_sent_however_old_it_is(subscriber: Subscriber) -> None:
    in_a_line = replace(subscriber.job_type, ordered=True)
    subscriber.world.time.now += OLDEST_SECONDS + 1

    with pytest.raises(TooOld):
        subscriber.republisher.send("thing-1001-done", subscriber.job_type)

    assert subscriber.republisher.send("thing-1001-done", in_a_line).message_id


def test_asked_to_it_reopens_a_dead_job_and_the_effect_is_there_once(subscriber: Subscriber) -> None:
    died(subscriber)
    for _ in range(3):
        subscriber.send(reopen=True)

    assert subscriber.work() == 3

    assert subscriber.state == "completed"
    assert subscriber.world.job()["generation"] == 1


@pytest.mark.parametrize("state", ["completed", "cancelled", "expired"])
def test_it_never_reopens_another_outcome(subscriber: Subscriber, state: str) -> None:
    died(subscriber)
    key = Key("jobs", thing().id, "points")
    subscriber.world.store.write(Update(key, set={"state": state}))
    subscriber.send(reopen=True)

    assert subscriber.work() == 1
    assert subscriber.state == state


def test_a_reopened_job_that_dies_again_is_dead(subscriber: Subscriber) -> None:
    died(subscriber).send(reopen=True)
    subscriber.broken = True

    subscriber.work()

    assert subscriber.state == "dead"
    assert subscriber.world.job()["generation"] == 1


def test_what_is_older_than_the_markers_is_refused(subscriber: Subscriber) -> None:
    subscriber.world.time.now = NOW.timestamp() + OLDEST_SECONDS - 61
    subscriber.send()
    subscriber.world.time.now += 1

    with pytest.raises(TooOld, match="17 days"):
        subscriber.send()
    assert subscriber.work() == 1


@pytest.mark.parametrize(
    "event_id", ["thing-1002-done", "thing-1001-undone", "other-1001-done", "thing-1001", "", "x"]
)
def test_an_event_that_is_not_there_is_refused(subscriber: Subscriber, event_id: str) -> None:
    with pytest.raises(NotFound):
        subscriber.send(event_id)


def test_an_event_of_another_type_at_the_same_place_is_refused(subscriber: Subscriber) -> None:
    body = json.dumps({**json.loads(thing(7).to_json()), "type": "thing.shipped"})
    subscriber.world.store.write(Put(THING_DONE.row_key("thing-7-done"), {"event": body}))

    with pytest.raises(NotFound):
        subscriber.send("thing-7-done")


def test_a_queue_that_does_not_take_it_is_transient(world: World) -> None:
    with pytest.raises(Transient, match="stack-nobody"):
        SqsSubscriberQueue(world.deployment, "nobody").send("body", {"type": "t"})


# ---- lag ----


def saved(world: World, number: int, age_seconds: float, shard: str | None = None) -> None:
    event = replace(thing(number), time=NOW - timedelta(seconds=age_seconds))
    item = {**outbox.attributes(event), **({"unpublished": shard} if shard else {})}
    world.store.write(Put(THING_DONE.row_key(event.id), item))


def test_nothing_outstanding_is_no_lag(world: World) -> None:
    assert lag(world.store, NOW.timestamp()) == Lag(0.0, 0.0)


def test_the_lag_is_the_age_of_the_oldest_row_whichever_shard_it_is_in(world: World) -> None:
    for number, age in enumerate([3, 700.5, 12, 90]):
        saved(world, number, age)
    saved(world, 9, 9_000, shard=outbox.REFUSED)

    assert lag(world.store, NOW.timestamp()) == Lag(700.5, 9_000.0)


def test_a_row_from_a_clock_that_is_ahead_has_no_age(world: World) -> None:
    saved(world, 1, -5)

    assert lag(world.store, NOW.timestamp()) == Lag(0.0, 0.0)
