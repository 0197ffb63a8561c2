"""Checkout: charge the card now, because the customer needs the yes or no, and let everything else follow."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from ..postroom.acceptance import Birth, Intent, Work
from ..postroom.problems import Problem
from ..postroom.storage import Item
from .cart import Cart, priced
from .catalogue import PRODUCTS, Product
from .orders import ORDER_PAID, Order, OrderLine, OrderPaid, aggregate_of, order_key
from .ports import CardDeclined, Cards, Charge, ChargeInProgress

ROUTE = "POST /checkout"
_REFUSALS = {
    402: "The card was declined. Nothing was charged or ordered.",
    409: "The same request is being worked on, or it came to nothing and its charge was given back.",
    422: "A sku is not sold, or is named twice.",
}


@dataclass(frozen=True, slots=True)
class Paid:
    """Lines as priced, and the charge for their sum (kobo)."""

    lines: list[OrderLine]
    charge: Charge

    @property
    def amount(self) -> int:
        return sum(line.total for line in self.lines)


def checkout(cards: Cards, products: Mapping[str, Product] = PRODUCTS) -> Work[Cart, Paid]:
    return Work(
        route=ROUTE,
        model=Cart,
        key=order_key,
        settle=lambda intent: _pay(cards, intent, products),
        undo=lambda paid, winner: _refund_if_unused(cards, paid, winner),
        build=_order,
        summary="Charge the card, and place the order",
        refusals=_REFUSALS,
    )


def _pay(cards: Cards, intent: Intent[Cart], products: Mapping[str, Product]) -> Paid:
    cart = intent.payload
    lines = priced(cart.lines, products)
    amount = sum(line.total for line in lines)
    try:
        charge = cards.charge(amount, cart.currency, cart.card_token, key=intent.settlement_key)
    except CardDeclined:
        raise Problem(
            402, "card_declined", "The card was declined. Nothing was charged or ordered."
        ) from None
    except ChargeInProgress as busy:
        detail = "The same request is being worked on. Send it again to get its answer."
        raise Problem(409, "in_progress", detail, headers={"Retry-After": "1"}) from busy
    return Paid(lines, charge)


def _refund_if_unused(cards: Cards, paid: Paid, winner: Item) -> None:
    # a repeat of the winner's own request was given the winner's charge, by its key
    if winner.get("chargeId") != paid.charge.id:
        cards.refund(paid.charge.id)


def _order(intent: Intent[Cart], paid: Paid, now: datetime) -> Birth:
    cart = intent.payload
    order = Order(intent.id, cart.email, paid.lines, paid.amount, cart.currency, now, cart.note or "")
    event = ORDER_PAID.new(
        aggregate_of(order.id),
        OrderPaid(order_id=order.id, customer_id=intent.caller, amount=order.amount, currency=order.currency),
        sequence=1,
        time=now,
        owner=intent.caller,
        trace=intent.trace,
    )
    return Birth(event, {**order.attributes, "chargeId": paid.charge.id})
