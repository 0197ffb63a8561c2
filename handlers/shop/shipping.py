"""Shipping: the order moves on, and its customer is told by SMS."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated

from pydantic import Field

from ..postroom.acceptance import Intent
from ..postroom.bodies import Body
from ..postroom.change import Change, Found, Step
from ..postroom.events import EventType
from ..postroom.problems import NOT_YOURS, Problem, not_found
from ..postroom.storage import Item, Key
from .facts import Fact, Id
from .order_status import SHIPPED, advance, status_of
from .orders import aggregate_of, order_key
from .persons import is_erased


class OrderShipped(Fact):
    order_id: Id


ORDER_SHIPPED = EventType("order.shipped", 1, OrderShipped, born_with_entity=False)


class Shipment(Body):
    """`phone` is where the news goes, in E.164 form: `+2348012345678`."""

    phone: Annotated[str, Field(pattern=r"^\+[1-9][0-9]{7,14}$")]


def _ship(intent: Intent[Shipment], found: Found, now: datetime) -> Step:
    order = found["order"]
    if order is None or order.get("owner") != intent.caller:
        raise not_found()
    if is_erased(order):
        raise Problem(409, "customer_erased", "The customer's personal data was erased: nobody can be told.")
    if status_of(order) is SHIPPED:
        raise Problem(409, "already_shipped", "This order is on its way already.")
    order_id = _order_id(intent)
    event = ORDER_SHIPPED.new(
        aggregate_of(order_id),
        OrderShipped(order_id=order_id),
        sequence=SHIPPED.version,
        time=now,
        owner=intent.caller,
        trace=intent.trace,
    )
    moved = advance(order_key(order_id), SHIPPED, {"phone": intent.payload.phone})
    return Step(ORDER_SHIPPED, event, [moved])


def text_for(order: Item) -> str:
    """In the GSM alphabet and below 160 characters: one SMS (3GPP TS 23.038 §6.1.2)."""
    return f"Your order {order['pk'].removeprefix('order-')} is on its way."


def _order_id(intent: Intent[Shipment]) -> str:
    """As the path has it; an id of no order's shape is one that no order has."""
    order_id = intent.path.get("id", "")
    if not (0 < len(order_id) <= 64 and order_id.isascii()):
        raise not_found()
    return order_id


def _home(intent: Intent[Shipment]) -> str:
    return aggregate_of(_order_id(intent))


def _its_order(intent: Intent[Shipment]) -> Mapping[str, Key]:
    return {"order": order_key(_order_id(intent))}


SHIP = Change(
    "POST /orders/{id}/ship",
    Shipment,
    _home,
    _its_order,
    _ship,
    summary="Mark an order as shipped, and tell its customer by SMS",
    refusals={404: NOT_YOURS, 409: "The order is on its way already, or its customer has been erased."},
)
