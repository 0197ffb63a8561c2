"""Charges without an order: found by asking the gateway, and given back.

A checkout charges first and commits then. When it dies in between and its client never comes back, or when
the refund for a lost race fails, the gateway holds money for which there is no order. Nothing of ours has a
record of that; the gateway has.
"""

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ..postroom.acceptance import tombstone
from ..postroom.errors import ConditionFailed, PostroomError
from ..postroom.idempotency import id_in_settlement_key
from ..postroom.redaction import trace
from ..postroom.retries import is_permanent
from ..postroom.storage import Item, Key, Put, Store
from .orders import order_key
from .ports import ChargeBook, PastCharge

logger = logging.getLogger("postroom.reconcile")

MARK = Key("shop", "reconcile", "charges")
"""Up to when (`until`, epoch milliseconds) every charge has its order or its refund."""
FIRST_LOOK_SECONDS = 90 * 24 * 3600
"""How far back the first run of a deployment looks; every other looks back to the mark, however old."""
LEAST_REMAINING_MS = 15_000
"""One charge may take this long: with less left, the next run goes on from there."""


@dataclass(frozen=True, slots=True)
class Reconciliation:
    """`min_age_seconds` is longer than any request, so that no checkout under way is taken for a dead one."""

    book: ChargeBook
    store: Store
    min_age_seconds: float

    def run(self, now: float, remaining_ms: Callable[[], int]) -> Mapping[str, int]:
        """Settle every charge since the last run's mark; returns how many were what.

        `now` is epoch seconds. Raises what the gateway's listing or the database raises: the next run begins
        at the same mark.
        """
        until = now - self.min_age_seconds
        mark = self.store.read([MARK]).get(MARK)
        since = int(mark["until"]) / 1000 if mark else until - FIRST_LOOK_SECONDS
        progress = _Progress(until)
        for charge, order in self._charges(since, until):
            if remaining_ms() < LEAST_REMAINING_MS:
                progress.stop_at(charge)
                break
            progress.note(charge, self._settle(charge, order))
        if progress.verdicts or mark is None:
            self.store.write(Put(MARK, {"until": int(progress.reached * 1000)}, condition=None))
        return dict(progress.verdicts)

    def _charges(self, since: float, until: float) -> Iterator[tuple[PastCharge, Item | None]]:
        after: str | None = None
        while True:
            page = self.book.made(since=since, until=until, after=after)
            orders = self._orders(page.charges)
            for charge in page.charges:
                key = _order_key(charge)
                yield charge, orders.get(key) if key else None
            after = page.next
            if after is None:
                return

    def _orders(self, charges: Sequence[PastCharge]) -> Mapping[Key, Item]:
        keys = list(dict.fromkeys(key for charge in charges if (key := _order_key(charge))))
        return self.store.read(keys) if keys else {}

    def _settle(self, charge: PastCharge, order: Item | None) -> str:
        key = _order_key(charge)
        if key is None:
            logger.warning("charge.unknown", extra={"charge": charge.id})
            return "unknown"
        try:
            return self._give_back(charge, order or self._closed(key, charge))
        except PostroomError as error:
            permanent = is_permanent(error)
            name = "charge.refund_refused" if permanent else "charge.not_settled"
            logger.error(  # noqa: TRY400 - the trace is given as it may be logged
                name, extra={"charge": charge.id, "order": key.pk, "trace": trace(error)}
            )
            return "refused" if permanent else "left"

    def _closed(self, key: Key, charge: PastCharge) -> Item:
        """The item at the order's place: the order, if it came after all, or else our tombstone.

        The tombstone goes first: a gateway repeats its yes to a charge that it has refunded since, so a
        client that comes back late must find that this order cannot be made any more.
        """
        put = tombstone(key, charge.made_at)
        try:
            self.store.write(put)
        except ConditionFailed as refused:
            return refused.old or self.store.read([key])[key]
        return put.item

    def _give_back(self, charge: PastCharge, order: Item) -> str:
        if order.get("chargeId") == charge.id:
            return "ordered"
        if charge.is_refunded:
            return "refunded_before"
        self.book.refund(charge.id)
        logger.warning("charge.refunded", extra={"charge": charge.id})
        return "refunded"


@dataclass(slots=True)
class _Progress:
    """How far a run has come: to `reached` (epoch seconds), with nothing left unsettled before it."""

    reached: float
    verdicts: Counter[str] = field(default_factory=Counter)

    def note(self, charge: PastCharge, verdict: str) -> None:
        self.verdicts[verdict] += 1
        if verdict == "left":
            self.stop_at(charge)

    def stop_at(self, charge: PastCharge) -> None:
        self.reached = min(self.reached, charge.made_at)


def _order_key(charge: PastCharge) -> Key | None:
    order_id = id_in_settlement_key(charge.key)
    return order_key(order_id) if order_id else None
