"""Order and event are one item; the relay publishes what the table owes, the sweep what the relay missed."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.path.facts import operations
from tests.path.names import resource_of
from tests.path.shop import AMOUNT, SUBSCRIBERS, Shop

UNPUBLISHED = "relay.publish_failed"


def naive_checkout(shop: Shop, number: int) -> None:
    """Save the order, then publish: two steps, and whatever may happen between them."""
    shop.save_item({"pk": f"order-{number}", "sk": "entity", "amount": AMOUNT})
    shop.publish(shop.event(number).to_json())


def orders(shop: Shop) -> list[str]:
    return sorted(item["pk"] for item in shop.shop_items("order-") if item["sk"] == "entity")


def outstanding(shop: Shop) -> list[str]:
    return sorted(item["pk"] for item in shop.shop_items() if "unpublished" in item)


def test_a_naive_order_loses_its_job_when_the_broker_is_out_of_reach_and_an_outbox_order_does_not(
    shop: Shop,
) -> None:
    """Relay run 1 fails and marks nothing, run 2 publishes 1, run 3 publishes 0."""
    shop.expects(UNPUBLISHED)
    consumers = [resource_of(name, "Function") for name in SUBSCRIBERS]

    with shop.without(*consumers):
        with shop.broker_out_of_reach():
            with pytest.raises(Exception, match="NotFound"):
                naive_checkout(shop, 1001)
            shop.order(1002)
            shop.poll("RelayFunction")
        after_run_1 = outstanding(shop), shop.waiting("ReceiptsQueue")
        shop.run_for(1)
        after_run_2 = outstanding(shop), shop.waiting("ReceiptsQueue")
        run_3 = shop.poll("RelayFunction")

    assert after_run_1 == (["order-1002"], 0)
    assert after_run_2 == ([], 1)
    assert (run_3, shop.waiting("ReceiptsQueue")) == (0, 1)
    assert len(shop.runs("RelayFunction")) == 2
    assert orders(shop) == ["order-1001", "order-1002"]
    for subscriber in SUBSCRIBERS:
        (waiting,) = shop.aws.sqs.queue(shop.stack.ref(resource_of(subscriber, "Queue"))).messages
        assert waiting.body == shop.shop_items("order-1002")[0]["event"]


def test_the_sweep_run_by_run_fails_and_marks_nothing_publishes_1_publishes_0(shop: Shop) -> None:
    shop.expects(UNPUBLISHED)
    sweep = shop.stack.functions["SweepFunction"]
    with shop.without("RelayFunction"):
        shop.order(1002)
        shop.clock.advance(61)

        with shop.broker_out_of_reach():
            sweep.invoke({})
        after_run_1 = outstanding(shop), shop.waiting("ReceiptsQueue")
        run_2 = sweep.invoke({})
        after_run_2 = outstanding(shop), shop.waiting("ReceiptsQueue")
        run_3 = sweep.invoke({})

    assert after_run_1 == (["order-1002"], 0)
    assert (run_2.answer, after_run_2) == ({"swept": 1}, ([], 1))
    assert (run_3.answer, shop.waiting("ReceiptsQueue")) == ({"swept": 0}, 1)


def test_an_order_and_its_event_are_one_write(shop: Shop) -> None:
    """STREAM-4: there is no second call that could fail."""
    with shop.aws.metered() as calls:
        shop.checkout()

    (order,) = shop.shop_items()
    assert operations(calls)["PutItem"] == 1
    assert order.keys() >= {"event", "unpublished", "answer", "fingerprint", "lines"}


def test_an_order_that_is_not_written_has_no_event_and_one_that_is_has_one(shop: Shop) -> None:
    """STREAM-4."""
    shop.expects("request.unavailable")
    for _ in range(3):
        shop.aws.switches.throttle("dynamodb", "PutItem")

    refused = shop.checkout("order-1")
    written_after_the_refusal = shop.shop_items()
    shop.settle()
    accepted = shop.checkout("order-1")
    shop.settle()

    assert (refused.status, written_after_the_refusal) == (503, [])
    assert accepted.status == 202
    assert len(orders(shop)) == len(shop.mailer.sent) == len(shop.gateway.charges) == 1


def test_what_is_published_leaves_the_list_of_what_is_outstanding(shop: Shop) -> None:
    shop.order(1001)
    before = outstanding(shop)

    shop.poll("RelayFunction")

    assert before == ["order-1001"]
    assert outstanding(shop) == []


def test_marking_a_row_as_published_does_not_wake_the_relay(shop: Shop) -> None:
    shop.order(1001)

    shop.settle()

    assert len(shop.runs("RelayFunction")) == 1


def test_a_hundred_orders_are_one_relay_batch_oldest_first(shop: Shop) -> None:
    for number in range(1, 101):
        shop.order(number)

    with shop.without(*(resource_of(name, "Function") for name in SUBSCRIBERS)):
        shop.settle()

    relayed = [
        record["dynamodb"]["Keys"]["pk"]["S"] for record in shop.runs("RelayFunction")[0].event["Records"]
    ]
    assert relayed == [f"order-{number}" for number in range(1, 101)]
    queue = shop.aws.sqs.queue(shop.stack.ref("LoyaltyQueue"))
    assert [message.body for message in queue.messages] == [
        item["event"] for item in sorted(shop.shop_items("order-"), key=lambda item: int(item["pk"][6:]))
    ]


def test_a_relay_that_dies_after_publishing_publishes_again_and_the_repeat_collapses(shop: Shop) -> None:
    """STREAM-5: both copies carry the same event id."""
    shop.expects("Runtime.ExitError")
    shop.mortal("relay").deaths = 1
    event = shop.order(1001)

    shop.run_for(5)

    assert len(shop.runs("RelayFunction")) == 2
    assert_each_effect_once(shop, event.id)
    assert sorted(shop.outcomes("loyalty")) == ["completed", "duplicate"]


def test_a_relay_that_fails_in_the_middle_rewinds_to_there_and_each_effect_is_one(shop: Shop) -> None:
    """STREAM-1: the topic takes the first and the third of three events, three times over."""
    shop.aws.switches.partial("sns", "PublishBatch", calls=3)
    events = [shop.order(number) for number in (1001, 1002, 1003)]

    shop.run_for(10)

    rewound = shop.runs("RelayFunction")[1].event["Records"]
    assert [record["dynamodb"]["Keys"]["pk"]["S"] for record in rewound] == ["order-1002", "order-1003"]
    assert sorted(shop.outcomes("loyalty")) == ["completed"] * 3 + ["duplicate"]
    for event in events:
        assert_each_effect_once(shop, event.id)


@pytest.mark.parametrize("relays", [2, 4])
def test_several_relays_at_once_publish_more_than_once_and_every_subscriber_acts_once(
    shop: Shop, relays: int
) -> None:
    event = shop.order(1001)
    with shop.without(*(resource_of(name, "Function") for name in SUBSCRIBERS)):
        shop.poll("RelayFunction")
    batch = shop.runs("RelayFunction")[0].event
    relay = shop.stack.functions["RelayFunction"]

    with ThreadPoolExecutor(relays) as pool:
        list(pool.map(lambda _: relay.invoke(batch), range(relays - 1)))
    shop.settle()

    assert sorted(shop.outcomes("loyalty")) == ["completed", *["duplicate"] * (relays - 1)]
    assert_each_effect_once(shop, event.id)


def test_the_sweep_publishes_what_the_stream_missed(shop: Shop) -> None:
    event = shop.order(1001)

    with shop.without("RelayFunction"):
        shop.run_for(59)
        before = shop.states(event.id)
        shop.run_for(61)

    assert set(before.values()) == {"queued"}
    assert_each_effect_once(shop, event.id)
    assert outstanding(shop) == []


def test_the_sweep_leaves_young_rows_to_the_relay(shop: Shop) -> None:
    with shop.without("RelayFunction"):
        shop.run_for(30)
        event = shop.order(1001)
        shop.run_for(30)  # the sweep runs at 60 s; the row is 30 s old
        assert shop.waiting("LoyaltyQueue") == 0
    shop.settle()

    assert shop.outcomes("loyalty") == ["completed"]
    assert_each_effect_once(shop, event.id)


def test_a_relay_back_from_an_outage_does_not_repeat_what_the_sweep_has_sent(shop: Shop) -> None:
    event = shop.order(1001)
    with shop.without("RelayFunction"):
        shop.run_for(120)

    shop.settle()

    assert len(shop.runs("RelayFunction")) == 1
    assert shop.outcomes("loyalty") == ["completed"]
    assert_each_effect_once(shop, event.id)


def test_what_time_to_live_removes_is_not_published_again(shop: Shop) -> None:
    """STREAM-2."""
    shop.order(1001)
    shop.settle()
    key: dict[str, Any] = {"pk": {"S": "order-1001"}, "sk": {"S": "entity"}}
    shop.client("dynamodb").delete_item(TableName=shop.stack.ref("ShopTable"), Key=key)

    shop.settle()

    assert len(shop.runs("RelayFunction")) == 1


@pytest.mark.parametrize(
    "event", ["not an event", '{"id":"order-1-paid"}', "{}"], ids=["no-json", "no-type", "empty"]
)
def test_a_row_that_cannot_be_published_is_set_aside_and_its_neighbours_get_out(
    shop: Shop, event: str
) -> None:
    """STREAM-3."""
    shop.expects("relay.row_refused")
    first = shop.order(1001)
    shop.save_item({"pk": "order-bad", "sk": "entity", "event": event, "unpublished": "0", "bornAt": 1})
    last = shop.order(1002)

    shop.run_for(120)

    assert_each_effect_once(shop, first.id)
    assert_each_effect_once(shop, last.id)
    (refused,) = shop.shop_items("order-bad")
    assert refused["unpublished"] == "refused"
    assert refused["refusal"]
    assert shop.waiting("RelayFailures") == 0


def assert_each_effect_once(shop: Shop, event_id: str) -> None:
    assert shop.states(event_id) == dict.fromkeys(SUBSCRIBERS, "completed")
    order_id = event_id.removeprefix("order-").removesuffix("-paid")
    sent: Callable[[str], int] = [key for _, key in shop.mailer.sent].count
    assert sent(f"{event_id}:receipts") == 1
    assert len([item for item in shop.shop_items("customer-") if item["orderId"] == order_id]) == 1
    assert len([pick for pick in shop.picks() if pick["orderId"] == order_id]) == 1
    assert shop.invoices().count(f"invoices/{order_id}.pdf") == 1
