"""The kit that adopters get: the shop's subscribers hold, and a subscriber that does not is told on."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from handlers import queue_invoices, queue_loyalty, queue_receipts, queue_warehouse
from handlers.postroom import outbox
from handlers.postroom.aws.queue_entry import QueueEntry, queue_handler
from handlers.postroom.jobs import Call, Commit, Job, call_job, commit_job
from handlers.postroom.retries import RetryPolicy
from handlers.postroom.storage import Key, Put, Update
from handlers.shop.orders import ORDER_PAID, Order, OrderLine, OrderPaid, order_key
from handlers.shop.ports import Mailer
from infra.testkit import ALONE, CRASHES, EffectError, assert_effect_once
from tests.faults.providers import Mailroom

NOW = datetime(2026, 9, 21, 12, tzinfo=UTC)
LINES = [OrderLine("adire-shirt", "Adire shirt", 850_000, 2), OrderLine("palm-basket", "Basket", 342_500, 1)]
ORDER = Order("1001", "ada@example.com", LINES, 2_042_500, "NGN", NOW)
PAID = ORDER_PAID.new(
    "order-1001",
    OrderPaid(order_id="1001", customer_id="alice", amount=2_042_500, currency="NGN"),
    sequence=1,
    time=NOW,
    owner="alice",
    trace="",
)
PLACED = Put(order_key("1001"), {**ORDER.attributes, **outbox.attributes(PAID), "owner": "alice"})


@pytest.mark.parametrize(
    ("handler", "more"),
    [
        pytest.param(queue_receipts.handler, {"provider": Mailroom()}, id="receipts"),
        pytest.param(queue_invoices.handler, {"environ": {"INVOICE_BUCKET": "invoices"}}, id="invoices"),
        pytest.param(queue_loyalty.handler, {}, id="loyalty"),
        pytest.param(queue_warehouse.handler, {}, id="warehouse"),
    ],
)
def test_every_subscriber_of_the_shop_takes_effect_once(handler: QueueEntry, more: Mapping[str, Any]) -> None:
    runs = assert_effect_once(
        handler, PAID, deliveries=3, crash_at="every call", given=[PLACED], faults=ALONE, **more
    )

    assert runs > len(ALONE)


def test_what_to_crash_at_may_be_named() -> None:
    runs = assert_effect_once(queue_loyalty.handler, PAID, crash_at="TransactWriteItems")

    assert runs == 1 + len(CRASHES)


def test_a_call_that_is_never_made_is_no_place_to_crash_at() -> None:
    with pytest.raises(EffectError, match="nothing to crash at"):
        assert_effect_once(queue_loyalty.handler, PAID, crash_at="DeleteItem")


def test_a_key_that_changes_with_the_attempt_is_found() -> None:
    @call_job("receipts", on=ORDER_PAID, retry=RetryPolicy())
    def careless(job: Job[OrderPaid]) -> Call[Mailer]:
        return Call(lambda mailer: {"at": mailer.send(None, key=f"{job.id}-{job.attempt}")})

    with pytest.raises(EffectError, match=r"send.*paid:receipts-2"):
        assert_effect_once(queue_handler(careless, provider=_unused), PAID, provider=Postbox())


def test_a_job_that_cannot_complete_is_found() -> None:
    @commit_job("stuck", on=ORDER_PAID, retry=RetryPolicy(attempts=2))
    def stuck(job: Job[OrderPaid]) -> Commit:
        return Commit([Update(Key("shop", "nobody", "entity"), add={"times": 1})])

    with pytest.raises(EffectError, match="the job is dead"):
        assert_effect_once(queue_handler(stuck), PAID)


class Postbox:
    def send(self, _mail: object, *, key: str) -> str:
        return key


def _unused(_deployment: object) -> Any:
    raise NotImplementedError
