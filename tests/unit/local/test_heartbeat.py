"""Leases go on while work does, and not a moment longer than SQS or the function itself allows."""

from collections.abc import Iterator

import pytest

from infra.local.aws import LocalAws
from infra.local.aws.clock import ManualClock
from infra.local.aws.sqs.queue import MAX_VISIBILITY_SECONDS, Queue
from infra.local.heartbeat import Heartbeat

LEASE_SECONDS = 30


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def aws(clock: ManualClock) -> Iterator[LocalAws]:
    made = LocalAws(clock)
    with made.region.changed:
        yield made


@pytest.fixture
def queue(aws: LocalAws) -> Queue:
    attributes = {"VisibilityTimeout": str(LEASE_SECONDS)}
    aws.sqs.create_queue({"QueueName": "letters", "Attributes": attributes})
    aws.sqs.send_message({"QueueUrl": "letters", "MessageBody": "hello"})
    return aws.sqs.queue("letters")


@pytest.fixture
def heartbeat(aws: LocalAws) -> Heartbeat:
    return Heartbeat(aws.region)


def let_pass(clock: ManualClock, heartbeat: Heartbeat, seconds: float) -> None:
    """Beat whenever it is due in this time."""
    end = clock.now() + seconds
    while (due := heartbeat.next_due()) is not None and due <= end:
        clock.advance(max(0.0, due - clock.now()))
        beat = heartbeat.claim()
        assert beat is not None
        assert beat() == 0
    clock.advance(end - clock.now())


def test_a_lease_is_renewed_when_half_of_it_is_over(
    clock: ManualClock, queue: Queue, heartbeat: Heartbeat
) -> None:
    (received,) = queue.receive(1)

    with heartbeat.holding(queue)([received.handle]):
        first_due = heartbeat.next_due()
        let_pass(clock, heartbeat, 3600)
        assert not queue.has_claimable()
    after = heartbeat.next_due()

    assert first_due == clock.now() - 3600 + LEASE_SECONDS / 2
    assert after is None
    clock.advance(LEASE_SECONDS)
    assert queue.has_claimable()


def test_nothing_is_held_past_12_hours(clock: ManualClock, queue: Queue, heartbeat: Heartbeat) -> None:
    (received,) = queue.receive(1)

    with heartbeat.holding(queue)([received.handle]):
        let_pass(clock, heartbeat, MAX_VISIBILITY_SECONDS - 0.001)
        before = queue.has_claimable()
        clock.advance(0.001)

        assert (before, queue.has_claimable()) == (False, True)
        assert heartbeat.next_due() is None


@pytest.mark.parametrize("seconds", [0, 600])
def test_what_the_function_has_decided_on_is_left_as_it_is(
    clock: ManualClock, queue: Queue, heartbeat: Heartbeat, seconds: int
) -> None:
    (received,) = queue.receive(1)

    with heartbeat.holding(queue)([received.handle]):
        queue.change_visibility(received.handle, seconds)
        let_pass(clock, heartbeat, 20)

        lease = queue.lease(received.handle)
        assert lease is not None
        assert lease.until_ms == lease.since_ms + seconds * 1000


def test_what_is_acknowledged_is_held_no_more(clock: ManualClock, queue: Queue, heartbeat: Heartbeat) -> None:
    (received,) = queue.receive(1)

    with heartbeat.holding(queue)([received.handle]):
        queue.delete(received.handle)
        let_pass(clock, heartbeat, 60)

    assert queue.messages == []
