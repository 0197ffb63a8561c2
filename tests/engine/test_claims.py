"""Calls to providers that cannot deduplicate, and jobs that somebody wants stopped."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from handlers.postroom import job_rows
from handlers.postroom.aws.queue_entry import queue_handler
from handlers.postroom.consumer import Consumer
from handlers.postroom.errors import NotActed, ProviderError, Transient
from handlers.postroom.jobs import Call, CallJob, InDoubt, Job, call_job
from handlers.postroom.records import Record
from handlers.postroom.retries import Jitter, RetryPolicy
from handlers.postroom.settlement import Surroundings
from tests.fakes import FakeStore, sending_twice

from .conftest import NOW, THING_DONE, Invocation, ThingDone, World, sqs_record, thing

POLICY = RetryPolicy(attempts=4, base_ms=1_000, jitter=Jitter.NONE)


class Killed(BaseException):
    """The process ends: nothing below it may run."""


@dataclass
class Provider:
    """Acts on every call, deduplicates nothing, and may be cut off after acting."""

    acted: list[str] = field(default_factory=list)
    then: Callable[[], None] = lambda: None

    def send(self, key: str) -> dict[str, Any]:
        self.acted.append(key)
        self.then()
        return {"n": len(self.acted)}


def claimed(in_doubt: InDoubt | None) -> CallJob[ThingDone, Provider]:
    @call_job("sms", on=THING_DONE, retry=POLICY, claim=in_doubt)
    def send(job: Job[ThingDone]) -> Call[Provider]:
        return Call(lambda provider: provider.send(job.idempotency_key))

    return send


def deliver(world: World, job_type: Any, provider: Provider, **record: Any) -> list[str]:
    handler = queue_handler(job_type, provider=lambda _: provider).on(world.deployment)
    answer = handler({"Records": [sqs_record(thing(), **record)]}, Invocation(lambda: 30_000))
    return [failure["itemIdentifier"] for failure in answer["batchItemFailures"]]


def killed_after_acting() -> Provider:
    def kill() -> None:
        raise Killed

    return Provider(then=kill)


def raising(error: Exception) -> Callable[[], None]:
    def fail() -> None:
        raise error

    return fail


def test_a_second_delivery_waits_while_a_claim_lives(world: World) -> None:
    inner: list[list[str]] = []
    provider = Provider()
    provider.then = lambda: inner.append(
        deliver(world, claimed(InDoubt.RETRY), Provider(then=lambda: pytest.fail("called")), message_id="m2")
    )

    assert deliver(world, claimed(InDoubt.RETRY), provider) == []

    assert inner == [["m2"]]
    assert provider.acted == ["thing-1001-done:sms"]


@pytest.mark.parametrize("wait_seconds", [pytest.param(5, id="IDEM-2-before-the-deadline")])
def test_a_killed_claim_is_kept_for_retry_until_its_lease_ends(world: World, wait_seconds: int) -> None:
    provider = killed_after_acting()
    with pytest.raises(Killed):
        deliver(world, claimed(InDoubt.RETRY), provider)
    world.time.now += wait_seconds

    assert deliver(world, claimed(InDoubt.RETRY), provider, receive_count=2) == ["m1"]

    assert len(provider.acted) == 1
    assert world.job(subscriber="sms")["state"] == "running"


def test_a_claim_that_died_in_doubt_is_made_again_where_the_author_says_retry(world: World) -> None:
    with pytest.raises(Killed):
        deliver(world, claimed(InDoubt.RETRY), killed_after_acting())
    world.time.now += 32
    provider = Provider()

    assert deliver(world, claimed(InDoubt.RETRY), provider, receive_count=2) == []  # IDEM-2 (b)

    assert provider.acted == ["thing-1001-done:sms"]
    row = world.job(subscriber="sms")
    assert (row["state"], row["attempts"]) == ("completed", 2)
    assert "leaseUntil" not in row


def test_a_claim_that_died_in_doubt_is_left_to_a_person_where_the_author_says_dead(world: World) -> None:
    with pytest.raises(Killed):
        deliver(world, claimed(InDoubt.DEAD), killed_after_acting())
    world.time.now += 32
    provider = Provider()

    assert deliver(world, claimed(InDoubt.DEAD), provider, receive_count=2) == ["m1"]

    assert provider.acted == []
    row = world.job(subscriber="sms")
    assert (row["state"], row["failures"][0]["error"]) == ("dead", "CutOff")


def test_a_claim_that_the_sdk_sent_twice_is_ours() -> None:
    """Else a call that was never made would be left to a person as one that may have acted."""
    store, provider = FakeStore(), Provider()
    store.faults.on("write", sending_twice)
    around = Surroundings(store, NOW.timestamp, lambda: 0.0, lambda _: None)
    consumer: Consumer[ThingDone] = Consumer(claimed(InDoubt.DEAD), around, lambda call: call.fn(provider))

    outcomes = consumer.handle(
        [Record("m1", "handle", thing().to_json(), 1, NOW.timestamp(), "p1")], lambda: 30_000
    )

    assert outcomes["m1"].name == "completed"
    assert provider.acted == ["thing-1001-done:sms"]


@pytest.mark.parametrize("refusal", [ProviderError(429, "busy"), NotActed("connection refused")])
def test_a_claimed_call_that_fails_in_plain_sight_is_retried_like_any_other(
    world: World, refusal: Exception
) -> None:
    deliver(world, claimed(InDoubt.DEAD), Provider(then=raising(refusal)))
    provider = Provider()

    assert deliver(world, claimed(InDoubt.DEAD), provider, receive_count=2) == []

    assert world.job(subscriber="sms")["attempts"] == 2


@pytest.mark.parametrize(
    "failure", [TimeoutError("no answer"), ProviderError(500, "sorry"), Transient("lost")]
)
def test_a_claimed_call_that_may_have_acted_before_it_failed_is_not_made_again(
    world: World, failure: Exception
) -> None:
    first, second = Provider(then=raising(failure)), Provider()

    assert deliver(world, claimed(InDoubt.DEAD), first) == ["m1"]
    assert deliver(world, claimed(InDoubt.DEAD), second, receive_count=2) == ["m1"]

    assert (first.acted, second.acted) == (["thing-1001-done:sms"], [])
    row = world.job(subscriber="sms")
    assert (row["state"], row["failures"][0]["error"]) == ("dead", "CutOff")


def test_a_claimed_call_that_may_have_acted_is_made_again_where_the_author_says_retry(world: World) -> None:
    deliver(world, claimed(InDoubt.RETRY), Provider(then=raising(TimeoutError("no answer"))))

    assert deliver(world, claimed(InDoubt.RETRY), Provider(), receive_count=2) == []

    assert world.job(subscriber="sms")["state"] == "completed"


def test_waiting_spends_no_attempt(world: World) -> None:
    with pytest.raises(Killed):
        deliver(world, claimed(InDoubt.RETRY), killed_after_acting())
    for receive_count in (2, 3, 4, 5):
        deliver(world, claimed(InDoubt.RETRY), Provider(), receive_count=receive_count)
    world.time.now += 32
    deliver(world, claimed(InDoubt.RETRY), Provider(), receive_count=6)

    assert world.job(subscriber="sms")["attempts"] == 2


def test_a_cancelled_job_is_acknowledged_without_effect(world: World) -> None:
    job_type, provider = claimed(None), Provider()
    world.store.write(job_rows.cancelled(job_type.row_key(thing().id), "alice", world.time()))

    assert deliver(world, job_type, provider) == []

    assert provider.acted == []
    assert world.job(subscriber="sms")["state"] == "cancelled"


def test_a_call_asked_to_cancel_before_it_starts_is_cancelled(world: World) -> None:
    job_type, provider = claimed(None), Provider()
    world.store.write(job_rows.cancelling(job_type.row_key(thing().id), "alice", world.time()))

    assert deliver(world, job_type, provider) == []

    assert provider.acted == []
    assert world.job(subscriber="sms")["state"] == "cancelled"


def cut_off_and_asked_to_stop(world: World, in_doubt: InDoubt) -> None:
    job_type = claimed(in_doubt)
    with pytest.raises(Killed):
        deliver(world, job_type, killed_after_acting())
    world.store.write(job_rows.cancelling(job_type.row_key(thing().id), "alice", world.time()))
    world.time.now += 32


def test_a_call_that_was_cut_off_and_then_cancelled_is_not_made_again_and_says_what_may_have_happened(
    world: World,
) -> None:
    cut_off_and_asked_to_stop(world, InDoubt.RETRY)
    provider = Provider()

    assert deliver(world, claimed(InDoubt.RETRY), provider, receive_count=2) == []

    assert provider.acted == []
    row = world.job(subscriber="sms")
    assert (row["state"], "leaseUntil" in row, "cancelling" in row) == ("cancelled", False, False)
    assert "may have happened" in row["why"]


def test_a_cancellation_does_not_hide_that_a_call_which_must_not_be_repeated_was_cut_off(
    world: World,
) -> None:
    cut_off_and_asked_to_stop(world, InDoubt.DEAD)
    provider = Provider()

    assert deliver(world, claimed(InDoubt.DEAD), provider, receive_count=2) == ["m1"]

    assert provider.acted == []
    row = world.job(subscriber="sms")
    assert (row["state"], row["failures"][0]["error"]) == ("dead", "CutOff")


def test_a_call_under_way_may_still_complete_after_a_cancellation(world: World) -> None:
    job_type = claimed(None)
    provider = Provider()
    provider.then = lambda: world.store.write(
        job_rows.cancelling(job_type.row_key(thing().id), "alice", world.time())
    )

    assert deliver(world, job_type, provider) == []

    row = world.job(subscriber="sms")
    assert row["state"] == "completed"
    assert "cancelling" not in row
