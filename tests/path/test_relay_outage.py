"""Three days without a relay: the stream forgets after one, the table does not."""

import pytest

from handlers.postroom import outbox
from handlers.postroom.errors import ProviderError
from infra.local.aws.dynamodb.stream import KEPT_SECONDS
from tests.path.conftest import OpenShop
from tests.path.facts import operations
from tests.path.shop import SUBSCRIBERS, Shop
from tests.path.test_outbox import assert_each_effect_once, outstanding
from tests.path.test_retries import calling

HOUR = 3600
EVERY_HOURS = 2
ORDERS = 36
"""One every two hours, three days long."""

AGE_LIMITS = [(HOUR, 0), (-1, KEPT_SECONDS // (EVERY_HOURS * HOUR))]
"""The age in seconds at which the mapping gives records up (-1: never), and how many then reach the relay."""


def patient(age_limit: int) -> dict[str, dict[str, int]]:
    return {"RelayFunctionBorn": {"MaximumRecordAgeInSeconds": age_limit}}


def idle_schedules(shop: Shop) -> set[str]:
    """Hours pass faster without what looks every minute and finds nothing."""
    return shop.scheduled - {"SweepFunction"}


def records_relayed(shop: Shop) -> int:
    return sum(len(run.event["Records"]) for run in shop.runs("RelayFunction"))


def lag(shop: Shop) -> float:
    return outbox.lag(shop.store, shop.clock.now()).seconds


def orders_over_three_days(shop: Shop, *, swept_for: float = 0) -> list[float]:
    """Place them without a relay; the sweep works for so many seconds after each. Returns the lag at each."""
    lags = []
    with shop.without("RelayFunction", *idle_schedules(shop)):
        for number in range(1, ORDERS + 1):
            shop.order(number)
            if swept_for:
                shop.run_for(swept_for)
            shop.clock.advance(EVERY_HOURS * HOUR - swept_for)
            lags.append(lag(shop))
    return lags


@pytest.mark.parametrize(("age_limit", "relayed"), AGE_LIMITS, ids=["an-hour", "all-that-is-kept"])
def test_a_relay_down_for_72_hours_loses_nothing_that_the_stream_has_forgotten(
    open_shop: OpenShop, age_limit: int, relayed: int
) -> None:
    """Here the sweep is down with it, and both come back together."""
    shop = open_shop(patient(age_limit))
    lags = orders_over_three_days(shop)
    assert lags == [EVERY_HOURS * HOUR * number for number in range(1, ORDERS + 1)]
    assert len(outstanding(shop)) == ORDERS

    with shop.without(*idle_schedules(shop)):
        shop.run_for(121)

    assert records_relayed(shop) == relayed
    assert (outstanding(shop), lag(shop)) == ([], 0.0)
    assert shop.outcomes("loyalty") == ["completed"] * ORDERS
    for number in range(1, ORDERS + 1):
        assert_each_effect_once(shop, f"order-{number}-paid")


@pytest.mark.parametrize(("age_limit", "relayed"), AGE_LIMITS, ids=["an-hour", "all-that-is-kept"])
def test_while_the_sweep_stands_in_the_lag_is_minutes_and_the_relay_that_comes_back_repeats_nothing(
    open_shop: OpenShop, age_limit: int, relayed: int
) -> None:
    shop = open_shop(patient(age_limit))
    with shop.without("RelayFunction", *idle_schedules(shop)):
        shop.order(0)
        shop.run_for(119)
        in_between = lag(shop)
        shop.run_for(1)
    lags = orders_over_three_days(shop, swept_for=121)
    before = shop.everything()

    with shop.without(*shop.scheduled), shop.aws.metered() as calls:
        shop.settle()

    assert in_between == 119.0
    assert set(lags) == {0.0}
    assert records_relayed(shop) == relayed
    assert operations(calls).keys() <= {"BatchGetItem", "SendMessage"}, (
        "it looks, and tells of what was too old"
    )
    assert shop.everything() == before
    assert shop.outcomes("loyalty") == ["completed"] * (ORDERS + 1)


@pytest.mark.parametrize("swept_first", [True, False], ids=["swept-first", "relay-and-sweep-at-once"])
def test_a_relay_that_comes_back_reopens_no_dead_job(open_shop: OpenShop, swept_first: bool) -> None:
    """Its job died in the meantime; the stream still holds its event, and the sweep may send it again."""
    answers: list[Exception] = [ProviderError(422, "no such mailbox")]
    shop = open_shop(receipts=calling(answers))
    shop.expects("job.attempt_failed")
    with shop.without("RelayFunction", *idle_schedules(shop)):
        event = shop.order(1)
        shop.run_for(121)
    died = shop.jobs(event.id)["receipts"]
    if not swept_first:
        shop.set_attribute("order-1", "unpublished", outbox.shard_of("order-1"))

    with shop.without(*idle_schedules(shop)):
        shop.run_for(121)

    assert died["state"] == "dead"
    assert shop.jobs(event.id)["receipts"] == died
    assert shop.waiting("ReceiptsDeadLetterQueue") == 1
    assert outstanding(shop) == []
    assert sorted(shop.outcomes("loyalty")) == ["completed", *(["duplicate"] * (not swept_first))]
    assert {shop.states(event.id)[name] for name in SUBSCRIBERS if name != "receipts"} == {"completed"}
