"""Work that was taken back, and calls that tell how far they got."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from handlers.postroom.aws.queue_entry import queue_handler
from handlers.postroom.errors import Withdrawn
from handlers.postroom.jobs import Call, Job, Result, call_job
from handlers.postroom.retries import RetryPolicy
from handlers.postroom.storage import Key, Put, Write

from .conftest import THING_DONE, Invocation, ThingDone, World, sqs_record, thing

POLICY = RetryPolicy(attempts=2)


def deliver(world: World, job_type: Any, remaining_ms: int = 30_000, **record: Any) -> list[str]:
    handler = queue_handler(job_type, provider=lambda _: None).on(world.deployment)
    answer = handler({"Records": [sqs_record(thing(), **record)]}, Invocation(lambda: remaining_ms))
    return [failure["itemIdentifier"] for failure in answer["batchItemFailures"]]


@pytest.mark.parametrize("in_call", [False, True], ids=["before-the-call", "in-the-call"])
def test_work_that_was_taken_back_ends_cancelled_and_is_acknowledged(world: World, in_call: bool) -> None:
    def withdraw(_provider: object = None) -> Result:
        raise Withdrawn("never mind")

    @call_job("mails", on=THING_DONE, retry=POLICY)
    def send(_job: Job[ThingDone]) -> Call[object]:
        return Call(withdraw) if in_call else Call(lambda _: withdraw())

    failed = deliver(world, send)

    assert failed == []
    row = world.job(subscriber="mails")
    assert row["state"] == "cancelled"
    assert row["owner"] == thing().owner
    assert row["why"] == "never mind"
    assert "failures" not in row


def test_it_stays_cancelled_when_it_comes_again(world: World) -> None:
    sent: list[str] = []

    @call_job("mails", on=THING_DONE, retry=POLICY)
    def send(job: Job[ThingDone]) -> Call[object]:
        if not sent:
            sent.append("withdrawn")
            raise Withdrawn("never mind")
        sent.append(job.id)
        return Call(lambda _: {})

    for message in ("m1", "m2"):
        assert deliver(world, send, message_id=message) == []

    assert sent == ["withdrawn"]


def test_what_follows_a_call_is_made_of_its_result_and_commits_with_it(world: World) -> None:
    key = Key("shop", "thing-1001", "seen")

    def then(result: Result, now: datetime) -> Sequence[Write]:
        return [Put(key, {"n": result["n"], "at": now.isoformat()})]

    @call_job("mails", on=THING_DONE, retry=POLICY)
    def send(_job: Job[ThingDone]) -> Call[object]:
        return Call(lambda _: {"n": 7}, then=then)

    assert deliver(world, send) == []

    item = world.store.read([key])[key]
    assert item["n"] == 7
    assert item["at"] == datetime.fromtimestamp(world.deployment.clock(), UTC).isoformat()
    assert world.job(subscriber="mails")["result"] == {"n": 7}


def test_a_call_sees_how_much_time_is_left(world: World) -> None:
    seen: list[Callable[[], int]] = []

    @call_job("mails", on=THING_DONE, retry=POLICY)
    def send(job: Job[ThingDone]) -> Call[object]:
        seen.append(job.remaining_ms)
        return Call(lambda _: {})

    deliver(world, send, remaining_ms=12_345)

    assert [remaining() for remaining in seen] == [12_345]
