"""Exactly these AWS calls and write units: more would be a cost that nobody decided on."""

from collections.abc import Sequence

import pytest

from infra.local import bill
from infra.local.aws.meter import Call
from infra.local.bill import Step
from tests.path.facts import operations
from tests.path.names import resource_of
from tests.path.shop import Shop

TEN = range(1001, 1011)


def ten_orders(shop: Shop) -> None:
    """Of ten customers, waiting in every subscriber's queue."""
    for number in TEN:
        shop.order(number, caller=f"customer-{number}")
    shop.poll("RelayFunction")


def calls_of(shop: Shop, function: str) -> list[Call]:
    """What one batch of a function asks of AWS."""
    with shop.aws.metered() as calls:
        moved = shop.poll(function)
    assert moved == len(TEN)
    return calls


def units(calls: Sequence[Call]) -> tuple[float, float]:
    """Write and read units."""
    return sum(call.write_units for call in calls), sum(call.read_units for call in calls)


def test_checkout_is_one_consistent_read_before_the_card_is_touched_and_one_put(shop: Shop) -> None:
    with shop.aws.metered() as calls:
        shop.checkout()

    assert [call.operation for call in calls] == ["GetItem", "PutItem"]
    assert calls[0].read_units == 1.0  # an eventually consistent read would be 0.5
    assert [call.operation for call in shop.cards.calls_before[0]][-1:] == ["GetItem"]
    assert shop.cards.calls_before[0][-1] is calls[0]


def test_a_reused_key_with_another_payload_is_refused_before_the_card_is_touched(shop: Shop) -> None:
    shop.checkout("order-1", email="ada@example.com")

    with shop.aws.metered() as calls:
        refused = shop.checkout("order-1", email="bola@example.com")

    assert (refused.status, operations(calls)) == (422, {"GetItem": 1})
    assert len(shop.cards.calls_before) == len(shop.gateway.charges) == 1


def test_a_repeated_checkout_is_one_read(shop: Shop) -> None:
    shop.checkout("order-1")

    with shop.aws.metered() as calls:
        shop.checkout("order-1")

    assert operations(calls) == {"GetItem": 1}
    assert len(shop.cards.calls_before) == 1


def test_a_checkout_is_2_write_units_the_item_and_its_place_in_the_index(shop: Shop) -> None:
    with shop.aws.metered() as calls:
        shop.checkout()

    assert units(calls) == (2.0, 1.0)


def test_the_relay_of_ten_events_is_one_publish_and_one_call_that_marks_all_ten(shop: Shop) -> None:
    for number in TEN:
        shop.order(number)

    calls = calls_of(shop, "RelayFunction")

    assert [call.operation for call in calls] == ["PublishBatch", "BatchExecuteStatement"]
    assert units(calls) == (20.0, 0.0)
    assert not any("unpublished" in item for item in shop.shop_items())


def test_ten_first_time_loyalty_messages_of_ten_customers_are_one_transaction_and_no_read(
    shop: Shop,
) -> None:
    ten_orders(shop)

    calls = calls_of(shop, "LoyaltyFunction")

    assert operations(calls) == {"TransactWriteItems": 1}
    assert units(calls) == (40.0, 0.0)
    assert [shop.points(f"customer-{number}") for number in TEN] == [204] * 10


def test_the_same_ten_redelivered_are_one_read_and_nothing_else(shop: Shop) -> None:
    shop.expects("Runtime.ExitError")
    shop.mortal("loyalty").deaths = 1
    ten_orders(shop)
    shop.poll("LoyaltyFunction")
    shop.clock.advance(180)

    calls = calls_of(shop, "LoyaltyFunction")

    assert operations(calls) == {"BatchGetItem": 1}
    assert units(calls) == (0.0, 10.0)
    assert shop.waiting("LoyaltyQueue") == 0


@pytest.mark.parametrize(
    ("function", "provider_calls"), [("ReceiptsFunction", {}), ("InvoicesFunction", {"PutObject": 10})]
)
def test_ten_calls_to_a_provider_are_one_lookup_and_one_write_each(
    shop: Shop, function: str, provider_calls: dict[str, int]
) -> None:
    ten_orders(shop)

    calls = calls_of(shop, function)

    assert operations(calls) == {"BatchGetItem": 1, "UpdateItem": 10, **provider_calls}
    assert units(calls) == (10.0, 20.0)


@pytest.mark.parametrize("subscriber", ["receipts", "invoices", "warehouse"])
def test_ten_that_are_done_already_are_one_read_and_nothing_else(shop: Shop, subscriber: str) -> None:
    shop.expects("Runtime.ExitError")
    shop.mortal(subscriber).deaths = 1
    ten_orders(shop)
    function = resource_of(subscriber, "Function")
    shop.poll(function)
    shop.clock.advance(360)

    calls = calls_of(shop, function)

    assert operations(calls) == {"BatchGetItem": 1}


def test_ten_picks_are_one_lookup_and_one_put_each_of_1_unit(shop: Shop) -> None:
    ten_orders(shop)

    calls = calls_of(shop, "WarehouseFunction")

    assert operations(calls) == {"BatchGetItem": 1, "PutItem": 10}
    assert units(calls)[0] == 10.0


def test_a_status_request_is_one_read_and_never_a_write(shop: Shop) -> None:
    location = shop.checkout().headers["location"]
    shop.settle()

    with shop.aws.metered() as calls:
        shop.get(location)

    assert operations(calls) == {"BatchGetItem": 1}
    assert units(calls)[0] == 0.0


def test_a_sweep_that_finds_nothing_asks_each_shard_and_the_refused_and_never_writes(shop: Shop) -> None:
    with shop.aws.metered() as calls:
        shop.stack.functions["SweepFunction"].invoke({})

    assert operations(calls) == {"Query": 9}
    assert units(calls)[0] == 0.0


def by_name(steps: Sequence[Step]) -> dict[str, float]:
    return {step.name: step.write_units for step in steps}


def is_the_shops(step: str) -> bool:
    """A subscriber that was added has its own bill."""
    return not step.startswith("queue_") or step in (*bill.COMPARED, "queue_invoices")


def test_an_order_costs_10_write_units_with_receipts_loyalty_warehouse_status_and_sweeper() -> None:
    orders = 10

    steps = bill.measure(orders)

    compared = [step for step in steps if bill.is_compared(step)]
    assert bill.write_units(compared) <= 10 * orders
    assert {step.name for step in compared} >= {
        "api_checkout",
        "stream_relay",
        *bill.COMPARED,
        "api_jobs",
        "schedule_sweep, one run",
    }
    costs = {
        "api_checkout": 2.0 * orders,
        "stream_relay": 2.0 * orders,
        "queue_receipts": 1.0 * orders,
        "queue_loyalty": 4.0 * orders,
        "queue_warehouse": 1.0 * orders,
        "queue_invoices": 1.0 * orders,
    }
    measured = {name: units for name, units in by_name(steps).items() if is_the_shops(name)}
    assert measured == {**dict.fromkeys(measured, 0.0), **costs}


def test_the_textbooks_order_costs_16_on_the_same_meter() -> None:
    assert bill.write_units(bill.textbook()) == 16.0


def test_the_bill_is_printed_step_by_step_with_its_totals(capsys: pytest.CaptureFixture[str]) -> None:
    assert bill.bill(orders=1) == 0

    printed = " ".join(capsys.readouterr().out.split())
    assert "api_checkout 1 GetItem + 1 PutItem 2 1" in printed
    assert "stream_relay 1 PublishBatch + 1 BatchExecuteStatement 2 0" in printed
    assert "queue_loyalty 1 TransactWriteItems 4 0" in printed
    assert "total 10 " in printed
    assert "queue_invoices 1 BatchGetItem + 1 PutObject + 1 UpdateItem 1 " in printed
    assert "the textbook's, without status or sweeper 16 " in printed
