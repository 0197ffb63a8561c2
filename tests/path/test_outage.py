"""An hour without mail, with a small part of the crowd that `make outage` sends through it."""

from collections import Counter

import pytest

from handlers.postroom.retries import Jitter
from infra.local.outage import OUTAGE_SECONDS, Outage, Request, hammering, mail_violations, measure
from infra.local.stubs import calling

ORDERS = 60


@pytest.fixture(scope="module")
def outage() -> Outage:
    return measure(ORDERS, calling("receipts").retry.jitter)


def test_every_receipt_is_sent_once_after_the_outage_and_nothing_is_left(outage: Outage) -> None:
    sent = Counter(request.key for request in outage.requests if request.accepted)

    assert outage.violations == []
    assert (len(sent), set(sent.values())) == (ORDERS, {1})
    assert min(outage.sent) >= OUTAGE_SECONDS


def test_no_other_subscriber_is_delayed(outage: Outage) -> None:
    assert outage.slowest_other == 0.0


def test_receipts_come_back_spread_over_time_and_without_jitter_in_one_minute(outage: Outage) -> None:
    without = measure(ORDERS // 5, Jitter.NONE, receipts_only=True)

    assert hammering(outage) == []
    assert hammering(without)
    assert without.violations == []


def test_what_is_sent_twice_or_never_would_be_noticed() -> None:
    requests = [Request(4000.0, "a", True), Request(4001.0, "a", True), Request(10.0, "b", False)]

    assert list(mail_violations(requests, ["a", "b", "c"])) == [
        "a was sent 2 times",
        "b was sent 0 times",
        "c was sent 0 times",
    ]
