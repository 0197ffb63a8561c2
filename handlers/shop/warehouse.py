"""The warehouse: one pick per order, because two would ship two parcels."""

from ..postroom.storage import Key, Put
from .orders import ORDER_PAID, Order, aggregate_of


def pick_key(order_id: str) -> Key:
    return Key("shop", aggregate_of(order_id), "pick")


def pick_key_of_event(event_id: str) -> Key:
    """Found from the event's id alone, which is what makes the pick its own processed marker."""
    order = ORDER_PAID.row_key(event_id)
    return Key("shop", order.pk, "pick")


def pick_for(order: Order) -> Put:
    """What to fetch from the shelves, and for which order."""
    lines = [{"sku": line.sku, "quantity": line.quantity} for line in order.lines]
    pick = {"orderId": order.id, "lines": lines}
    return Put(pick_key(order.id), {**pick, "note": order.note} if order.note else pick)
