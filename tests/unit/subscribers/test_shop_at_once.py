"""The shop's other subscribers: the same event three times, killed at every call, one effect."""

from datetime import UTC, datetime
from typing import Any

import pytest

from handlers import queue_password_reset, queue_shipping_sms, queue_statement, queue_welcome
from handlers.postroom.aws.queue_entry import QueueEntry
from handlers.postroom.events import Event
from handlers.postroom.storage import Put
from handlers.shop.accounts import ACCOUNT_CREDITED, AccountMoved
from handlers.shop.customers import CUSTOMER_SIGNED_UP, Customer, CustomerSignedUp, customer_key
from handlers.shop.orders import order_key
from handlers.shop.password_resets import RESET_REQUESTED, LinkMailer, ResetRequested, Tokens
from handlers.shop.shipping import ORDER_SHIPPED, OrderShipped
from infra.testkit.once import assert_effect_once
from tests.shop_fakes import FakeMailer

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
ADA = Customer("ada", "Ada", "ada@example.com")
CUSTOMER = Put(customer_key("ada"), ADA.attributes)
ORDER = Put(order_key("1001"), {"phone": "+2348012345678", "status": "SHIPPED", "version": 2})
TOLD: dict[str, Any] = {"time": NOW, "owner": "ada", "trace": ""}

SIGNED_UP = CUSTOMER_SIGNED_UP.new("customer-ada", CustomerSignedUp(customer_id="ada"), sequence=1, **TOLD)
SHIPPED = ORDER_SHIPPED.new("order-1001", OrderShipped(order_id="1001"), sequence=2, **TOLD)
ASKED = RESET_REQUESTED.new("reset-r1", ResetRequested(reset_id="r1", customer_id="ada"), sequence=1, **TOLD)
CREDITED = ACCOUNT_CREDITED.new(
    "account-42",
    AccountMoved(account_id="42", amount=500_000, balance=500_000, currency="NGN"),
    sequence=1,
    **TOLD,
)


class FakePhones:
    """Takes every SMS; a repeat is another one."""

    def text(self, number: str, message: str) -> str:
        return "sms-1"


LINKS = LinkMailer(FakeMailer(), Tokens("secret"), "https://shop.example.com/new-password")


@pytest.mark.parametrize(
    ("handler", "event", "given", "provider"),
    [
        pytest.param(queue_welcome.handler, SIGNED_UP, [CUSTOMER], FakeMailer(), id="welcome"),
        pytest.param(queue_shipping_sms.handler, SHIPPED, [ORDER], FakePhones(), id="shipping-sms"),
        pytest.param(queue_password_reset.handler, ASKED, [CUSTOMER], LINKS, id="password-reset"),
        pytest.param(queue_statement.handler, CREDITED, [], None, id="statement"),
    ],
)
def test_delivered_three_times_and_killed_anywhere_it_has_one_effect(
    handler: QueueEntry, event: Event[Any], given: list[Put], provider: Any
) -> None:
    assert assert_effect_once(handler, event, given=given, provider=provider) > 1
