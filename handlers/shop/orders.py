"""An order: the item it is stored as, and the event it is born with."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any

from pydantic import Field

from ..postroom.errors import Withdrawn
from ..postroom.events import EventType
from ..postroom.jobs import EPOCH
from ..postroom.storage import Item, Key
from .facts import Caller, Currency, Fact, Id
from .persons import ERASED, is_erased

KIND = "order"


class OrderPaid(Fact):
    """`amount` is in the minor unit of `currency`. Another member would be another version."""

    order_id: Id
    customer_id: Caller
    amount: Annotated[int, Field(ge=1)]
    currency: Currency


ORDER_PAID = EventType("order.paid", 1, OrderPaid)


def aggregate_of(order_id: str) -> str:
    return f"{KIND}-{order_id}"


def order_key(order_id: str) -> Key:
    return Key("shop", aggregate_of(order_id), "entity")


@dataclass(frozen=True, slots=True)
class OrderLine:
    """What was bought, as it was named and priced at that time. `unit_price` is in kobo."""

    sku: str
    name: str
    unit_price: int
    quantity: int

    @property
    def total(self) -> int:
        return self.unit_price * self.quantity

    @property
    def attributes(self) -> Item:
        return {"sku": self.sku, "name": self.name, "price": self.unit_price, "quantity": self.quantity}

    @classmethod
    def from_attributes(cls, line: Item) -> "OrderLine":
        return cls(line["sku"], line["name"], int(line["price"]), int(line["quantity"]))


@dataclass(frozen=True, slots=True)
class Order:
    """What subscribers read of an order. `amount` is in kobo; `placed_at` is when it was paid."""

    id: str
    email: str
    lines: Sequence[OrderLine]
    amount: int
    currency: str
    placed_at: datetime
    note: str = ""
    is_erased: bool = False
    """Whether its customer has been erased: there is no e-mail then, and nobody to write to."""

    @classmethod
    def from_item(cls, item: Item) -> "Order":
        return cls(
            id=item["pk"].removeprefix(f"{KIND}-"),
            email=item.get("email", ""),
            lines=[OrderLine.from_attributes(line) for line in item["lines"]],
            amount=int(item["amount"]),
            currency=item["currency"],
            placed_at=EPOCH + timedelta(milliseconds=int(item["bornAt"])),
            note=item.get("note", ""),
            is_erased=is_erased(item),
        )

    @property
    def of_a_person(self) -> "Order":
        """Itself, for whoever writes to its customer. Raises `Withdrawn` when there is nobody to write to."""
        if self.is_erased:
            raise Withdrawn(ERASED)
        return self

    @property
    def attributes(self) -> dict[str, Any]:
        """The order's own part of its item; time and owner come with the event. Blank is stored as absent."""
        attributes: dict[str, Any] = {
            "email": self.email,
            "lines": [line.attributes for line in self.lines],
            "amount": self.amount,
            "currency": self.currency,
        }
        return {**attributes, "note": self.note} if self.note else attributes
