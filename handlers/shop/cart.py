"""The body of `POST /checkout`, and what it costs."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, field_validator
from pydantic_core import PydanticCustomError

from ..postroom.bodies import Body, field_name, invalid
from ..postroom.problems import FieldError
from ..postroom.texts import Filled, Printable
from .catalogue import Product
from .orders import OrderLine

MAX_LINES = 50
"""Lines per cart. A stored line is under 120 bytes, so an order stays below 12 KB: far from an item's 400 KB,
and from a transaction's 4 MB even with 100 orders in one. Its event holds no lines and stays below 2 KB, far
from the 256 KB of a topic's message and of a batch of ten.
docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html
docs.aws.amazon.com/sns/latest/api/API_PublishBatch.html"""
MAX_QUANTITY = 999
MAX_EMAIL_CHARACTERS = 254
"""RFC 5321 §4.5.3.1.3, as corrected by erratum 1690."""


def _none_if_blank(value: object) -> object:
    return None if isinstance(value, str) and not value.strip() else value


class CartLine(Body):
    sku: Annotated[str, Field(pattern=r"^[a-z0-9-]{1,32}$", examples=["adire-shirt"])]
    quantity: Annotated[int, Field(ge=1, le=MAX_QUANTITY)]


class Cart(Body):
    """What a customer asks for.

    The e-mail's form is not checked: the order is paid for whether a receipt can be sent or not, and whether
    an address works shows only when it is written to. A receipt that cannot be sent is a dead letter with its
    reason, and the order's status says so.
    """

    email: Annotated[Filled, Field(max_length=MAX_EMAIL_CHARACTERS)]
    card_token: Annotated[str, Field(pattern=r"^[!-~]{1,255}$")]
    currency: Literal["NGN"] = "NGN"
    note: Annotated[Printable | None, Field(max_length=200), BeforeValidator(_none_if_blank)] = None
    lines: Annotated[list[CartLine], Field(min_length=1, max_length=MAX_LINES)]

    @field_validator("lines")
    @classmethod
    def _no_repeated_sku(cls, lines: list[CartLine]) -> list[CartLine]:
        if len({line.sku for line in lines}) != len(lines):
            raise PydanticCustomError("repeated_sku", "must not name a sku twice: give one line its quantity")
        return lines


def priced(lines: Sequence[CartLine], products: Mapping[str, Product]) -> list[OrderLine]:
    """The lines with today's names and prices. Raises `Problem` 422 naming each sku that is not sold."""
    unknown = [
        FieldError(field_name(("lines", index, "sku")), "is not in the catalogue")
        for index, line in enumerate(lines)
        if line.sku not in products
    ]
    if unknown:
        raise invalid(unknown)
    return [_priced(products[line.sku], line.quantity) for line in lines]


def _priced(product: Product, quantity: int) -> OrderLine:
    return OrderLine(product.sku, product.name, product.unit_price, quantity)
