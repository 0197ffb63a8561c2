"""A customer of the shop: who signed up, and where mail goes."""

from dataclasses import dataclass

from ..postroom.events import EventType
from ..postroom.idempotency import derived_id
from ..postroom.storage import Item, Key
from .facts import Fact, Id
from .persons import of_a_person

KIND = "customer"


class CustomerSignedUp(Fact):
    customer_id: Id


CUSTOMER_SIGNED_UP = EventType("customer.signed_up", 1, CustomerSignedUp)


@dataclass(frozen=True, slots=True)
class Customer:
    """No password: who somebody is, the identity provider knows, and it alone."""

    id: str
    name: str
    email: str

    @classmethod
    def from_item(cls, item: Item) -> "Customer":
        """Raises `Withdrawn` when the customer has been erased."""
        item = of_a_person(item)
        return cls(item["pk"].removeprefix(f"{KIND}-"), item["name"], item["email"])

    @property
    def attributes(self) -> Item:
        return {"name": self.name, "email": self.email}


def customer_id(caller: str) -> str:
    """A caller is one customer, whichever key a request to sign up carries."""
    return derived_id(caller, KIND, "")


def aggregate_of(customer_id: str) -> str:
    return f"{KIND}-{customer_id}"


def customer_key(customer_id: str) -> Key:
    return Key("shop", aggregate_of(customer_id), "entity")
