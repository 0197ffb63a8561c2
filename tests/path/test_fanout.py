"""One event, one queue per subscriber: nobody waits for anybody else."""

from dataclasses import replace
from typing import Any

from handlers import queue_loyalty, queue_warehouse
from handlers.postroom.aws.queue_entry import QueueEntry, queue_handler
from handlers.postroom.jobs import Commit, Job
from handlers.postroom.retries import Jitter
from handlers.shop.orders import OrderPaid
from tests.path.conftest import OpenShop
from tests.path.names import resource_of
from tests.path.shop import SUBSCRIBERS, Shop, with_policy

OTHERS = {"receipts", "invoices", "sales", "warehouse"}


def test_an_event_published_twice_leaves_each_subscriber_one_jobs_effect(shop: Shop) -> None:
    event = shop.order(1001)
    shop.poll("RelayFunction")
    shop.publish(event.to_json(), "again")

    shop.settle()

    for subscriber in SUBSCRIBERS:
        assert shop.outcomes(subscriber) == ["completed", "duplicate"]
    assert shop.mailer.sent == [(0.0, "order-1001-paid:receipts")]
    assert [pick["orderId"] for pick in shop.picks()] == ["1001"]
    assert shop.points() == 204
    assert shop.invoices() == ["invoices/1001.pdf"]


def test_every_subscriber_has_its_own_copy_in_its_own_queue(shop: Shop) -> None:
    with shop.without(*(resource_of(name, "Function") for name in SUBSCRIBERS)):
        shop.order(1001)
        shop.settle()

    bodies = {
        message.body
        for name in SUBSCRIBERS
        for message in shop.aws.sqs.queue(shop.stack.ref(resource_of(name, "Queue"))).messages
    }
    assert [shop.waiting(resource_of(name, "Queue")) for name in SUBSCRIBERS] == [1] * len(SUBSCRIBERS)
    assert len(bodies) == 1


def test_a_slow_warehouse_does_not_delay_receipts(open_shop: OpenShop) -> None:
    """While one pick takes 25 s, ten orders that came in meanwhile have their receipts."""
    made: list[Shop] = []

    def slow(job: Job[OrderPaid]) -> Commit:
        if job.data.order_id == "1001":
            for number in range(1002, 1012):
                made[0].order(number)
            made[0].clock.advance(1)
            with made[0].without("WarehouseFunction"):
                made[0].settle()
            made[0].clock.advance(24)
        effect: Commit = queue_warehouse.request_pick.run(job)
        return effect

    shop = open_shop(warehouse=queue_handler(replace(queue_warehouse.request_pick, run=slow)))
    made.append(shop)
    shop.order(1001)
    shop.poll("RelayFunction")
    shop.poll("WarehouseFunction")
    shop.settle()

    assert [t for t, _ in shop.mailer.sent] == [1.0] * 11
    assert shop.ended_at("order-1011-paid", "receipts") == 1.0
    assert shop.t == 25.0
    assert len(shop.picks()) == 11


def test_a_warehouse_that_is_down_holds_up_nobody_else(shop: Shop) -> None:
    event = shop.order(1001)

    with shop.without("WarehouseFunction"):
        shop.run_for(600)

    assert shop.states(event.id) == {**dict.fromkeys(SUBSCRIBERS, "completed"), "warehouse": "queued"}
    assert shop.ended_at(event.id, "receipts") == 0.0
    shop.settle()
    assert shop.states(event.id)["warehouse"] == "completed"


def failing_loyalty(failures: int) -> QueueEntry:
    """Loyalty fails so many times, then works; 1 s, 2 s between."""
    left = [failures]

    def run(job: Job[OrderPaid]) -> Commit:
        if left[0]:
            left[0] -= 1
            raise TimeoutError("loyalty is busy")
        effect: Commit = queue_loyalty.credit_points.run(job)
        return effect

    policy: Any = with_policy(queue_loyalty.handler, base_ms=1_000, jitter=Jitter.NONE)
    return queue_handler(replace(policy, run=run))


def test_a_failing_loyalty_retries_alone(open_shop: OpenShop) -> None:
    shop = open_shop(loyalty=failing_loyalty(failures=2))
    shop.expects("job.attempt_failed")
    event = shop.order(1001)

    shop.run_until_idle()

    assert shop.handed_out("LoyaltyFunction") == [(0.0, [1]), (1.0, [2]), (3.0, [3])]
    assert (shop.ended_at(event.id, "loyalty"), shop.points()) == (3.0, 204)
    for other in OTHERS:
        assert shop.handed_out(resource_of(other, "Function")) == [(0.0, [1])]


def test_the_filter_sends_a_subscriber_its_own_event_types_only(shop: Shop) -> None:
    shop.publish(shop.event(1001).to_json(), kind="order.lost")

    shop.settle()

    assert [shop.waiting(resource_of(name, "Queue")) for name in SUBSCRIBERS] == [0] * len(SUBSCRIBERS)
    assert {each.function for each in shop.invocations} == set()
