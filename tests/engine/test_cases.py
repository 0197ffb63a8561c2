"""Failures that people have met in systems of this kind, where no other test has them already."""

import pytest

from handlers.postroom.aws.deployment import Deployment
from handlers.postroom.aws.queue import SqsQueue
from handlers.postroom.errors import AlreadyDone, Permanent, Unreadable
from handlers.postroom.jobs import RETENTION_SECONDS, Commit, Job, commit_job
from handlers.postroom.relay import OutboxRow
from handlers.postroom.storage import Compare, Key, Put, Update
from infra.local.aws import LocalAws
from infra.local.aws.clock import ManualClock

from .conftest import NOW, THING_DONE, ThingDone, World, sqs_record, thing
from .test_consumer import POLICY, Scripted, deliver

PARCEL = Key("shop", "parcel-1", "entity")
SENDS = {"SendMessage", "SendMessageBatch"}


@commit_job("points", on=THING_DONE, retry=POLICY)
def follow(job: Job[ThingDone]) -> Commit:
    """A state that only moves forward: the amount stands for the event's version of it."""
    version = job.data.amount
    newer = Compare("version", "<", version)
    moved = Update(PARCEL, set={"version": version}, condition=newer, refused=AlreadyDone("moved on"))
    return Commit([moved])


@pytest.mark.parametrize("receive_count", [1, 2], ids=["DDB-2-late", "DDB-2-redelivered"])
def test_an_older_event_is_acknowledged_and_moves_nothing_back(world: World, receive_count: int) -> None:
    world.store.write(Put(PARCEL, {"version": 1}))
    deliver(world, follow, [sqs_record(thing(1003, amount=3))])

    late = sqs_record(thing(1002, amount=2), message_id="m2", receive_count=receive_count)
    again = sqs_record(thing(1003, amount=3), message_id="m3")
    failed = deliver(world, follow, [late, again])

    assert failed == []
    assert world.store.read([PARCEL])[PARCEL]["version"] == 3


@pytest.mark.parametrize("neighbour", [False, True], ids=["BATCH-2-alone", "BATCH-2-in-a-batch"])
def test_what_is_hopeless_is_kept_for_sqs_to_move_and_copied_by_nobody(world: World, neighbour: bool) -> None:
    script = Scripted({"thing-1-done": [Permanent("no such account")]})
    good = [sqs_record(thing(2), message_id="m2")] if neighbour else []

    failed = deliver(world, script.job_type(), [sqs_record(thing(1), message_id="m1"), *good])

    assert failed == ["m1"]
    assert world.job("thing-1-done")["state"] == "dead"
    assert not SENDS & set(world.calls)


@pytest.mark.parametrize("publication", ["", "p1"], ids=["SQS-7-empty-attribute", "given"])
def test_a_message_without_a_publication_goes_back_without_one(publication: str) -> None:
    """SQS refuses an attribute with an empty value."""
    aws = LocalAws(ManualClock(NOW.timestamp()))
    sqs = aws.session().client("sqs")
    url = sqs.create_queue(QueueName="work.fifo", Attributes={"FifoQueue": "true"})["QueueUrl"]
    deployment = Deployment({"QUEUE_URL": url}, aws.session(), new_id=lambda: "copy-1")

    SqsQueue(deployment).send_again("{}", "parcel-1", publication)

    (message,) = sqs.receive_message(QueueUrl=url, MessageAttributeNames=["All"])["Messages"]
    given = {name: value["StringValue"] for name, value in message.get("MessageAttributes", {}).items()}
    assert given == ({"publication": publication} if publication else {})


@pytest.mark.parametrize("text", ["", '{"type": ""}'], ids=["SQS-7-empty-body", "SQS-7-empty-type"])
def test_what_would_be_an_empty_message_or_attribute_is_no_entry_at_all(text: str) -> None:
    row = OutboxRow(Key("shop", "order-1", "entity"), text)

    with pytest.raises(Unreadable):
        row.entry("p1")


def test_rows_expire_in_whole_seconds_within_their_retention(world: World) -> None:
    """TIME-1: milliseconds or text would never expire."""
    deliver(world, Scripted().job_type(), [sqs_record(thing())])

    row = world.store.read([Key("jobs", "thing-1001-done", "points")]).popitem()[1]

    assert type(row["expires"]) is int
    assert row["expires"] == int(NOW.timestamp()) + RETENTION_SECONDS
