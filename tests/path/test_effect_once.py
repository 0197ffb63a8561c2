"""Delivered two or three times, in effect once: the test that every handler has."""

import pytest

from tests.path import naive
from tests.path.conftest import OpenShop
from tests.path.names import resource_of
from tests.path.shop import SUBSCRIBERS, Shop

CRASH = "Runtime.ExitError"


@pytest.mark.parametrize("subscriber", SUBSCRIBERS)
def test_the_same_message_delivered_three_times_takes_effect_once(shop: Shop, subscriber: str) -> None:
    """The worker dies before its ack, twice. A new subscriber is covered by being there."""
    shop.expects(CRASH)
    shop.mortal(subscriber).deaths = 2
    event = shop.order(1001)
    shop.settle()
    after_one_delivery = shop.everything()

    shop.run_until_idle()

    assert [counts for _, counts in shop.handed_out(resource_of(subscriber, "Function"))] == [[1], [2], [3]]
    assert shop.outcomes(subscriber) == ["completed", "duplicate", "duplicate"]
    assert shop.states(event.id)[subscriber] == "completed"
    assert shop.everything() == after_one_delivery


@pytest.mark.parametrize("subscriber", SUBSCRIBERS)
@pytest.mark.parametrize("together", [True, False], ids=["in-one-batch", "one-by-one"])
def test_three_publications_of_one_event_take_effect_once(
    shop: Shop, subscriber: str, together: bool
) -> None:
    event = shop.order(1001)
    shop.poll("RelayFunction")
    if not together:
        shop.settle()

    for publication in ("second", "third"):
        shop.publish(event.to_json(), publication)
        if not together:
            shop.settle()
    shop.settle()

    assert shop.outcomes(subscriber) == ["completed", "duplicate", "duplicate"]
    assert len(shop.handed_out(resource_of(subscriber, "Function"))) == (1 if together else 3)
    assert (shop.points(), len(shop.picks()), len(shop.invoices()), len(shop.mailer.sent)) == (204, 1, 1, 1)


def test_three_deliveries_of_2042500_kobo_are_204_points(shop: Shop) -> None:
    """Credited, duplicate, duplicate."""
    shop.expects(CRASH)
    shop.mortal("loyalty").deaths = 2
    shop.order(1001)

    shop.run_until_idle()

    assert shop.points("ada") == 204
    assert shop.outcomes("loyalty") == ["completed", "duplicate", "duplicate"]


def test_a_naive_counter_ends_at_612_points(open_shop: OpenShop) -> None:
    shop = open_shop(loyalty=naive.adding_to_a_counter())
    shop.expects(CRASH)
    shop.mortal("loyalty").deaths = 2
    shop.order(1001)

    shop.run_until_idle()

    assert shop.points("ada") == 612


def test_a_marker_after_the_effect_credits_twice_when_the_process_dies_between(open_shop: OpenShop) -> None:
    shop = open_shop(loyalty=naive.marking_afterwards(dies=[True, False]))
    shop.expects(CRASH)
    shop.order(1001)

    shop.run_until_idle()

    assert shop.points("ada") == 408


def test_a_marker_before_the_effect_loses_the_credit_when_the_process_dies_between(
    open_shop: OpenShop,
) -> None:
    shop = open_shop(loyalty=naive.marking_beforehand(dies=[True]))
    shop.expects(CRASH)
    shop.order(1001)

    shop.run_until_idle()

    assert shop.points("ada") == 0


@pytest.mark.parametrize("moment", ["before the commit", "after the commit"])
def test_marker_and_effect_in_one_transaction_neither_lose_nor_repeat(shop: Shop, moment: str) -> None:
    shop.expects(CRASH)
    if moment == "after the commit":
        shop.mortal("loyalty").deaths = 1
    else:
        shop.mortal("loyalty").deaths_at_start = 1
    shop.order(1001)

    shop.run_until_idle()

    assert shop.points("ada") == 204


def test_points_entry_and_job_row_are_one_commit(shop: Shop) -> None:
    shop.order(1001)

    with shop.aws.metered() as calls:
        shop.settle()

    writes = [call for call in calls if call.operation == "TransactWriteItems"]
    assert len(writes) == 1
    assert shop.jobs("order-1001-paid")["loyalty"]["state"] == "completed"
    assert [item["points"] for item in shop.shop_items("customer-")] == [204]


def test_a_mail_delivered_three_times_is_sent_duplicate_duplicate(shop: Shop) -> None:
    """The worked example of the SMS `order-1001-shipped`, on the receipt."""
    shop.expects(CRASH)
    shop.mortal("receipts").deaths = 2
    shop.order(1001)

    shop.run_until_idle()

    assert shop.outcomes("receipts") == ["completed", "duplicate", "duplicate"]
    assert shop.mailer.sent == [(0.0, "order-1001-paid:receipts")]


def test_every_repeat_of_a_call_is_the_same_mail_under_the_same_key(shop: Shop) -> None:
    shop.expects(CRASH)
    shop.mailer.dies_after_sending()
    shop.order(1001)

    shop.run_until_idle()

    first, second = shop.mailer.every_mail
    assert first == second
    assert {key for _, key in shop.mailer.sent} == {"order-1001-paid:receipts"}


def test_an_invoice_made_twice_is_the_same_file(shop: Shop) -> None:
    event = shop.order(1001)
    shop.settle()
    name = "invoices/1001.pdf"
    bucket = shop.aws.s3.buckets[shop.stack.ref("InvoiceBucket")]
    first = bucket[name].body
    shop.clock.advance(3600)
    forget(shop, event.id, "invoices")

    shop.publish(event.to_json(), "much later")
    shop.settle()

    assert shop.invoices() == [name]
    assert bucket[name].body == first


def test_points_of_two_orders_add_up(shop: Shop) -> None:
    shop.order(1001)
    shop.order(1002)

    shop.settle()

    assert shop.points("ada") == 408


def test_duplicates_disorder_short_receives_and_stale_reads_change_no_effect(shop: Shop) -> None:
    """The freedoms that AWS takes, all at once."""
    switches = shop.aws.switches
    switches.duplicate_delivery = 0.5
    switches.reorder = switches.short_receives = True
    switches.stale_seconds = 1.0
    numbers = range(1, 16)
    for number in numbers:
        shop.order(number, caller=f"customer-{number}")

    shop.run_until_idle()

    assert {outcome for name in SUBSCRIBERS for outcome in shop.outcomes(name)} == {"completed", "duplicate"}
    for subscriber in SUBSCRIBERS:
        assert shop.outcomes(subscriber).count("completed") == len(numbers)
    assert [shop.points(f"customer-{number}") for number in numbers] == [204] * len(numbers)
    assert len(shop.picks()) == len(shop.invoices()) == len(shop.mailer.sent) == len(numbers)


def forget(shop: Shop, event_id: str, subscriber: str) -> None:
    """As if the record of the job had never been written."""
    shop.client("dynamodb").delete_item(
        TableName=shop.stack.ref("JobsTable"), Key={"pk": {"S": event_id}, "sk": {"S": subscriber}}
    )
