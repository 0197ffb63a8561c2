"""The harness itself: nothing that goes wrong in a pumped function goes unnoticed."""

from typing import Any

import pytest

from handlers.postroom.aws.entry import Entry
from handlers.postroom.aws.queue_entry import queue_handler
from handlers.postroom.jobs import Commit, Job, commit_job
from handlers.shop.orders import ORDER_PAID, OrderPaid
from tests.path.conftest import opened
from tests.path.naive import naive
from tests.path.shop import Shop


def broken(*_: Any) -> None:
    raise RuntimeError("this is broken")


@commit_job("loyalty", on=ORDER_PAID)
def failing_job(_job: Job[OrderPaid]) -> Commit:
    raise RuntimeError("this is broken")


@pytest.mark.parametrize("entry", [naive(broken), queue_handler(failing_job)], ids=["raised", "recorded"])
def test_an_exception_in_a_pumped_handler_fails_the_test(entry: Entry) -> None:
    with pytest.raises(AssertionError, match="this is broken"):
        pump_an_order(Shop(loyalty=entry))


def test_a_trouble_that_is_expected_and_never_comes_fails_the_test() -> None:
    with pytest.raises(AssertionError, match="never came"), opened(Shop()) as shop:
        shop.expects("job.attempt_failed")


def test_an_expected_trouble_does_not_hide_another() -> None:
    shop = Shop(loyalty=queue_handler(failing_job))
    shop.expects("relay.publish_failed")

    with pytest.raises(AssertionError, match="this is broken"):
        pump_an_order(shop)


def pump_an_order(shop: Shop) -> None:
    with opened(shop):
        shop.order(1001)
        shop.settle()
