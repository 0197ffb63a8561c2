"""The receipt: a mail that says what was bought and what it cost."""

import re

from ..postroom.errors import Permanent
from .money import naira
from .orders import Order
from .ports import Mail

_LOCAL = r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}"
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
ADDRESS_PATTERN = rf"^{_LOCAL}@{_LABEL}(?:\.{_LABEL})+$"
"""The form of html.spec.whatwg.org/multipage/input.html#valid-e-mail-address, with a dot in the domain."""
_ADDRESS = re.compile(rf"{_LOCAL}@(?=.{{1,253}}$){_LABEL}(?:\.{_LABEL})+")


def is_address(text: str) -> bool:
    return _ADDRESS.fullmatch(text) is not None


def receipt_for(order: Order) -> Mail:
    """Raises `Permanent` when the order's e-mail is no address: no retry will make it one."""
    if not is_address(order.email):
        raise Permanent("the order's e-mail is not an e-mail address")
    return Mail(
        to=order.email,
        subject=f"Your receipt for order {order.id}: {naira(order.amount)}",
        text=_text(order),
        date=order.placed_at,
    )


def _text(order: Order) -> str:
    lines = [f"{line.quantity} x {line.name}: {naira(line.total)}" for line in order.lines]
    return "\n".join(["Thank you for your order.", "", *lines, "", f"Paid: {naira(order.amount)}", ""])
