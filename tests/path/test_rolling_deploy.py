"""Deploys and rollbacks with messages of both versions under way, and a subscriber that is taken away."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from handlers.postroom.aws.queue_entry import QueueEntry, queue_handler
from handlers.postroom.events import Event, EventType
from handlers.postroom.jobs import Commit, Job, commit_job
from handlers.postroom.retries import RetryPolicy
from handlers.queue_loyalty import handler as old_code
from handlers.shop.loyalty import credit, points_for
from handlers.shop.orders import ORDER_PAID, OrderPaid
from infra.local.functions import InProcess
from infra.local.queue_mapping import QueueMapping
from tests.path.mortal_shop import POINTS, redrive
from tests.path.names import resource_of
from tests.path.shop import Shop

MINUTE_SECONDS = 60
LOYAL = {"RelayFunction", "LoyaltyFunction"}


class OrderPaidV2(OrderPaid):
    """With where the order came from, which version 1 did not say."""

    channel: str


V2 = EventType("order.paid", 2, OrderPaidV2, upcasts={1: lambda data: {**data, "channel": "shop"}})


@commit_job("loyalty", on=V2, retry=RetryPolicy(attempts=10, base_ms=1_000, cap_ms=900_000))
def credit_points_by_channel(job: Job[OrderPaidV2]) -> Commit:
    result = {"points": points_for(job.data.amount), "channel": job.data.channel}
    event: Event[Any] = job.event
    return Commit([credit(event)], result=result)


NEW = queue_handler(credit_points_by_channel)


@pytest.fixture
def loyal(shop: Shop) -> Iterator[Shop]:
    """A shop in which loyalty alone works, so that versions are its affair."""
    others = {mapping.function.name for mapping in shop.stack.mappings} - LOYAL
    with shop.without(*others, *shop.scheduled):
        yield shop


def deploy(shop: Shop, entry: QueueEntry) -> None:
    """Every new invocation runs this code; what is under way ends with the old."""
    runner = shop.mortal("loyalty").inner
    shop.mortal("loyalty").inner = InProcess(runner.handler, runner.deployment, entry)


def order_as_version_2(shop: Shop, number: int) -> None:
    """What a producer that is already new writes: only its event differs."""
    shop.order(number, told=of_version_2)


def of_version_2(text: str) -> str:
    event = json.loads(text)
    return json.dumps({**event, "version": 2, "data": {**event["data"], "channel": "app"}})


def channels(shop: Shop, *numbers: int) -> list[str]:
    jobs = (shop.jobs(ORDER_PAID.event_id(f"order-{number}"))["loyalty"] for number in numbers)
    return [job["result"]["channel"] for job in jobs]


def test_consumers_first_old_messages_are_brought_up_and_new_ones_understood(loyal: Shop) -> None:
    with loyal.without("LoyaltyFunction"):
        loyal.order(1001)
        loyal.settle()
    deploy(loyal, NEW)
    order_as_version_2(loyal, 1002)
    loyal.run_until_idle()

    assert channels(loyal, 1001, 1002) == ["shop", "app"]
    assert loyal.points() == 2 * POINTS


def test_an_old_instance_that_gets_a_new_message_leaves_it_to_a_new_one(loyal: Shop) -> None:
    loyal.expects("job.attempt_failed")
    order_as_version_2(loyal, 1001)
    loyal.settle()
    deploy(loyal, NEW)
    loyal.run_until_idle()

    assert channels(loyal, 1001) == ["app"]
    assert loyal.points() == POINTS


def test_what_a_rollback_cannot_read_waits_for_the_next_deploy(loyal: Shop) -> None:
    loyal.expects("job.attempt_failed")
    deploy(loyal, NEW)
    with loyal.without("LoyaltyFunction"):
        order_as_version_2(loyal, 1001)
        loyal.order(1002)
        loyal.settle()
    deploy(loyal, old_code)
    loyal.run_for(MINUTE_SECONDS)
    while_rolled_back = loyal.points()
    deploy(loyal, NEW)
    loyal.run_until_idle()

    assert while_rolled_back == POINTS
    assert channels(loyal, 1001) == ["app"]
    assert loyal.points() == 2 * POINTS


def test_a_rollback_that_outlasts_all_retries_leaves_dead_letters_to_redrive(loyal: Shop) -> None:
    loyal.expects("job.attempt_failed")
    order_as_version_2(loyal, 1001)
    loyal.run_for(60 * MINUTE_SECONDS)
    dead = loyal.states(ORDER_PAID.event_id("order-1001"))["loyalty"]
    deploy(loyal, NEW)
    redrive(loyal, "loyalty")
    loyal.run_until_idle()

    assert dead == "dead"
    assert loyal.points() == POINTS


@pytest.mark.parametrize("number", [1, 25])
def test_a_subscriber_that_is_unsubscribed_first_works_off_all_that_it_holds(
    loyal: Shop, number: int
) -> None:
    with loyal.without("LoyaltyFunction"):
        for each in range(number):
            loyal.order(1001 + each)
        loyal.settle()
    unsubscribe(loyal, "loyalty")
    loyal.order(2001)
    loyal.run_until_idle()

    assert loyal.points() == number * POINTS
    assert loyal.waiting("LoyaltyQueue") == loyal.waiting("LoyaltyDeadLetterQueue") == 0


def unsubscribe(shop: Shop, subscriber: str) -> None:
    """The first of the two deploys that take a subscriber away: its subscription goes, all else stays."""
    mapping = shop.stack.mapping_of(resource_of(subscriber, "Function"))
    assert isinstance(mapping, QueueMapping)
    for topic in shop.aws.sns.topics.values():
        for arn, subscription in list(topic.subscriptions.items()):
            if subscription.endpoint == mapping.source_arn:
                del topic.subscriptions[arn]
