"""At-least-once: only an ack removes a job, and the effect is there once all the same."""

from collections.abc import Callable
from typing import Any

import pytest

from handlers.postroom.aws.entry import Entry
from tests.path.conftest import OpenShop
from tests.path.mailer import Killed
from tests.path.naive import naive
from tests.path.shop import Shop

LEASE = {"VisibilityTimeout": 30}
CRASH = "Runtime.ExitError"


def naive_receipts(sent: list[str]) -> Entry:
    return naive(lambda _deployment, event: sent.append(event["id"]))


def test_a_claimed_job_is_claimable_again_at_30000_ms_and_not_at_29999(open_shop: OpenShop) -> None:
    shop = open_shop({"ReceiptsQueue": LEASE})
    shop.expects(CRASH)
    shop.mortal("receipts").deaths = 1
    shop.order(1001)
    shop.settle()

    shop.clock.advance(29.999)
    too_early = shop.poll("ReceiptsFunction")
    shop.clock.advance(0.001)
    in_time = shop.poll("ReceiptsFunction")

    assert (too_early, in_time) == (0, 1)
    assert shop.handed_out("ReceiptsFunction") == [(0.0, [1]), (30.0, [2])]


def test_a_worker_that_dies_before_the_ack_sends_one_receipt_where_a_naive_one_sends_two(
    open_shop: OpenShop,
) -> None:
    """Visibility 30 s: at 10 s not claimable, at 30 s delivered again, as attempt 2."""
    naive_sent: list[str] = []
    naive_shop = open_shop({"ReceiptsQueue": LEASE}, receipts=naive_receipts(naive_sent))
    ours = open_shop({"ReceiptsQueue": LEASE})

    for shop in (naive_shop, ours):
        shop.expects(CRASH)
        shop.mortal("receipts").deaths = 1
        shop.order(1001)
        shop.settle()
        shop.clock.advance(10)
        assert shop.poll("ReceiptsFunction") == 0
        shop.clock.advance(20)
        assert shop.poll("ReceiptsFunction") == 1

    assert naive_sent == ["order-1001-paid"] * 2
    assert ours.mailer.sent == [(0.0, "order-1001-paid:receipts")]
    assert ours.handed_out("ReceiptsFunction") == [(0.0, [1]), (30.0, [2])]
    assert ours.outcomes("receipts") == ["completed", "duplicate"]


def test_a_crash_between_the_providers_yes_and_our_record_repeats_the_call_with_the_same_key(
    open_shop: OpenShop,
) -> None:
    shop = open_shop({"ReceiptsQueue": LEASE})
    shop.expects(CRASH)
    shop.mailer.dies_after_sending()
    shop.order(1001)

    shop.run_until_idle()

    assert shop.mailer.sent == [(0.0, "order-1001-paid:receipts"), (30.0, "order-1001-paid:receipts")]
    assert list(shop.mailer.mails) == ["order-1001-paid:receipts"]
    assert shop.status("order-1001-paid")["receipts"]["attempts"] == 2
    assert shop.states("order-1001-paid")["receipts"] == "completed"


def test_a_job_of_45_s_under_a_visibility_of_30_s_runs_twice_and_takes_effect_once(
    open_shop: OpenShop,
) -> None:
    """Nothing crashed: the broker cannot tell dead from slow."""
    shop = open_shop({"ReceiptsQueue": LEASE, "ReceiptsFunction": {"Timeout": 60}})

    def take_45_seconds() -> None:
        shop.clock.advance(30)
        assert shop.poll("ReceiptsFunction") == 1  # a second worker, 5 s fast
        shop.clock.advance(15)

    shop.mailer.on_sending.append(take_45_seconds)
    shop.order(1001)
    shop.run_until_idle()

    assert [t for t, _ in shop.mailer.asked] == [0.0, 30.0]
    assert sorted(shop.handed_out("ReceiptsFunction")) == [(0.0, [1]), (30.0, [2])]
    assert list(shop.mailer.mails) == ["order-1001-paid:receipts"]
    assert shop.outcomes("receipts") == ["completed", "duplicate"]
    assert shop.ended_at("order-1001-paid", "receipts") == 30.0


def slowly(shop: Shop, seconds: int) -> Callable[[], None]:
    """A handler that takes so long, while everything else goes on beside it."""

    def take_its_time() -> None:
        for _ in range(seconds):
            shop.clock.advance(1)
            shop.stack.settle()

    return take_its_time


SLOW = {"ReceiptsQueue": LEASE, "ReceiptsFunction": {"Timeout": 60}}


@pytest.mark.parametrize(
    ("heartbeat", "runs"), [(False, [(0.0, [1]), (30.0, [2])]), (True, [(0.0, [1])])], ids=["without", "with"]
)
def test_with_a_heartbeat_a_job_of_45_s_under_a_visibility_of_30_s_runs_once(
    open_shop: OpenShop, heartbeat: bool, runs: list[tuple[float, list[int]]]
) -> None:
    shop = open_shop(SLOW, heartbeat=heartbeat)
    shop.mailer.on_sending.append(slowly(shop, 45))
    shop.order(1001)

    shop.run_until_idle()

    assert sorted(shop.handed_out("ReceiptsFunction")) == runs
    assert list(shop.mailer.mails) == ["order-1001-paid:receipts"]
    assert shop.states("order-1001-paid")["receipts"] == "completed"
    assert shop.waiting("ReceiptsQueue") == 0


def test_a_naive_job_runs_once_with_a_heartbeat(open_shop: OpenShop) -> None:
    sent: list[str] = []
    shops: list[Shop] = []

    def slow(_deployment: Any, event: dict[str, Any]) -> None:
        sent.append(event["id"])
        slowly(shops[0], 45)()

    shops.append(open_shop(SLOW, heartbeat=True, receipts=naive(slow)))
    shops[0].order(1001)
    shops[0].run_until_idle()

    assert sent == ["order-1001-paid"]


def test_a_heartbeat_ends_with_its_worker(open_shop: OpenShop) -> None:
    """At 29 s the worker dies; its lease had last been renewed at 15 s."""
    shop = open_shop(SLOW, heartbeat=True)
    shop.expects(CRASH)

    def die_slowly() -> None:
        slowly(shop, 29)()
        raise Killed

    shop.mailer.on_sending.append(die_slowly)
    shop.order(1001)

    shop.run_until_idle()

    assert shop.handed_out("ReceiptsFunction") == [(0.0, [1]), (45.0, [2])]


def test_a_slow_naive_job_takes_effect_twice(open_shop: OpenShop) -> None:
    sent: list[str] = []
    shops: list[Shop] = []

    def slow(_deployment: Any, event: dict[str, Any]) -> None:
        sent.append(event["id"])
        if len(sent) == 1:
            shops[0].clock.advance(30)
            shops[0].poll("ReceiptsFunction")
            shops[0].clock.advance(15)

    shop = open_shop({"ReceiptsQueue": LEASE, "ReceiptsFunction": {"Timeout": 60}}, receipts=naive(slow))
    shops.append(shop)
    shop.order(1001)
    shop.run_until_idle()

    assert sent == ["order-1001-paid"] * 2


@pytest.mark.parametrize("subscriber", ["loyalty", "warehouse"])
def test_a_worker_that_dies_before_the_ack_leaves_one_effect_in_the_table(
    open_shop: OpenShop, subscriber: str
) -> None:
    shop = open_shop()
    shop.expects(CRASH)
    shop.mortal(subscriber).deaths = 1
    shop.order(1001)
    shop.settle()
    after_the_crash = shop.everything()

    shop.run_until_idle()

    assert shop.everything() == after_the_crash
    assert shop.outcomes(subscriber) == ["completed", "duplicate"]
    assert (shop.points(), len(shop.picks())) == (204, 1)


def test_what_does_not_fit_into_the_remaining_time_is_given_back_without_spending_an_attempt(
    shop: Shop,
) -> None:
    """Ten mails of 8 s each in a function of 30 s: three start, seven are given back at once."""
    for number in range(1001, 1011):
        shop.order(number)
        shop.mailer.on_sending.append(lambda: shop.clock.advance(8))

    with shop.without("InvoicesFunction", "LoyaltyFunction", "WarehouseFunction"):
        shop.run_until_idle()

    first_call = shop.runs("ReceiptsFunction")[0]
    assert len(first_call.answer["batchItemFailures"]) == 7
    assert shop.outcomes("receipts")[:10] == ["completed"] * 3 + ["given_back"] * 7
    assert len(shop.mailer.sent) == len(shop.mailer.mails) == 10
    attempts = [shop.status(f"order-{number}-paid")["receipts"]["attempts"] for number in range(1001, 1011)]
    assert attempts == [1] * 10
    assert shop.waiting("ReceiptsDeadLetterQueue") == 0


def test_a_stopping_worker_gives_back_what_it_has_not_started(shop: Shop) -> None:
    shop.order(1001)
    shop.order(1002)
    shop.mailer.on_sending.append(shop.stack.stopping.set)

    with shop.without("InvoicesFunction", "LoyaltyFunction", "WarehouseFunction"):
        shop.settle()

    assert shop.outcomes("receipts") == ["completed", "given_back"]
    assert len(shop.mailer.sent) == 1
    assert shop.aws.sqs.queue(shop.stack.ref("ReceiptsQueue")).has_claimable()
