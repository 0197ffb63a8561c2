"""Sales: an entry per paid order, listed by the hour, for whoever sums up a period."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from ..postroom.errors import AlreadyDone
from ..postroom.events import Event
from ..postroom.jobs import EPOCH
from ..postroom.storage import Key, Put
from .orders import ORDER_PAID, OrderPaid

HOUR_MS = 3_600_000


def sale_key_of_event(event_id: str) -> Key:
    """Found from the event's id alone: the entry is its own processed marker."""
    return Key("shop", ORDER_PAID.row_key(event_id).pk, "sale")


def sale_of(event: Event[OrderPaid]) -> Put:
    """Entries name no business date: which one an instant belongs to is for the zone to say that sums up."""
    paid_ms = int(event.time.timestamp() * 1000)
    entry = {
        "amount": event.data.amount,
        "currency": event.data.currency,
        "listed": list_of(paid_ms),
        "listedAt": paid_ms,
    }
    return Put(sale_key_of_event(event.id), entry, refused=AlreadyDone("this sale is entered"))


def list_of(instant_ms: int) -> str:
    """One list per hour of UTC, so that a partition of the index takes an hour's orders and no more."""
    hour: datetime = EPOCH + timedelta(milliseconds=instant_ms)
    return f"sales-{hour.astimezone(UTC):%Y-%m-%dT%H}"


def lists_between(since_ms: int, until_ms: int) -> Iterator[str]:
    """The lists that hold the sales of a period (epoch milliseconds, the end not included)."""
    for hour_ms in range(since_ms - since_ms % HOUR_MS, until_ms, HOUR_MS):
        yield list_of(hour_ms)
