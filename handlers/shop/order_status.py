"""How far an order has come. Its status never goes back: an older event that comes late changes nothing."""

from dataclasses import dataclass

from ..postroom.errors import AlreadyDone
from ..postroom.storage import Absent, AllOf, AnyOf, Compare, Condition, Exists, Item, Key, Update


@dataclass(frozen=True, slots=True)
class Status:
    """`version` is the sequence number of the event that brought it about."""

    name: str
    version: int


PAID = Status("PAID", 1)
SHIPPED = Status("SHIPPED", 2)
_KNOWN = {status.name: status for status in (PAID, SHIPPED)}


def status_of(order: Item) -> Status:
    """An order is paid when it is written, so it says so only by being there."""
    return _KNOWN[order.get("status", PAID.name)]


def advance(order: Key, to: Status, more: Item | None = None) -> Update:
    """Move an order on. Refused where it is as far already, and where there is no order to move."""
    behind: Condition = Compare("version", "<", to.version)
    if PAID.version < to.version:
        behind = AnyOf((Absent("version"), behind))
    return Update(
        order,
        set={**(more or {}), "status": to.name, "version": to.version},
        condition=AllOf((Exists(), behind)),
        refused=AlreadyDone(f"the order is {to.name} or further"),
    )
