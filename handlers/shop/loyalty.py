"""Loyalty points: a ledger of entries, one per paid order, so that crediting twice is one entry."""

from ..postroom.errors import AlreadyDone
from ..postroom.events import Event
from ..postroom.storage import Key, Put
from .orders import OrderPaid

KOBO_PER_POINT = 10_000


def points_for(amount: int) -> int:
    """2,042,500 kobo → 204 points: one for each full ₦100."""
    return amount // KOBO_PER_POINT


def points_key(customer_id: str, event_id: str) -> Key:
    return Key("shop", f"customer-{customer_id}", f"points-{event_id}")


def credit(event: Event[OrderPaid]) -> Put:
    """The entry for an order. The balance is the sum of the entries: no counter to race for."""
    paid = event.data
    entry = {
        "points": points_for(paid.amount),
        "orderId": paid.order_id,
        "paidAt": int(event.time.timestamp() * 1000),
    }
    refused = AlreadyDone("this order's points are credited")
    return Put(points_key(paid.customer_id, event.id), entry, refused=refused)
