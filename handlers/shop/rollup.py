"""The nightly roll-up: what was sold on each business date of a time zone.

A run finishes every date that is over and not rolled up, whichever tick woke it. So a tick that is missed (a
local time that the clocks skip), doubled or late changes nothing.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Protocol
from zoneinfo import ZoneInfo

from ..postroom.errors import ConditionFailed
from ..postroom.jobs import EPOCH
from ..postroom.storage import AllOf, Compare, Item, Key, Put, Store, Update
from .sales import lists_between

LOOK_BACK_DAYS = 7
"""So long a date's sums are checked again: a sale may be entered late, after retries or a redrive."""
LEAST_REMAINING_MS = 10_000
MARK = Key("shop", "rollup", "through")
_DAY = timedelta(days=1)


class Ledger(Protocol):
    def between(self, name: str, since_ms: int, until_ms: int) -> Iterable[Item]:
        """The entries of one list from an instant up to but not at another (epoch milliseconds)."""


@dataclass(frozen=True, slots=True)
class Totals:
    """`amount` is in kobo."""

    orders: int = 0
    amount: int = 0

    @property
    def attributes(self) -> Item:
        return {"orders": self.orders, "amount": self.amount}


@dataclass(frozen=True, slots=True)
class RollUp:
    """Business dates run from midnight to midnight in `zone`."""

    store: Store
    ledger: Ledger
    zone: ZoneInfo

    def run(self, now: float, remaining_ms: Callable[[], int]) -> Mapping[str, list[str]]:
        """Finish what is over at `now` (epoch seconds); returns the dates that were done and corrected.

        Raises what the database raises: the next run begins where this one could not go on.
        """
        done: dict[str, list[str]] = {"done": [], "corrected": []}
        for day, is_new in self._dates(datetime.fromtimestamp(now, UTC)):
            if remaining_ms() < LEAST_REMAINING_MS:
                break
            verdict = self._finish(day, int(now * 1000), is_new=is_new)
            if verdict:
                done[verdict].append(day.isoformat())
            if is_new:
                self.store.write(Put(MARK, {"through": day.isoformat()}, condition=None))
        return done

    def bounds_ms(self, day: date) -> tuple[int, int]:
        """When a business date begins and ends, in epoch milliseconds; it may have 23 or 25 hours."""
        return self._midnight_ms(day), self._midnight_ms(day + _DAY)

    def _dates(self, now: datetime) -> Iterator[tuple[date, bool]]:
        """The dates to look at, and whether each is still to be rolled up as far as the mark tells."""
        last = now.astimezone(self.zone).date() - _DAY
        mark = self.store.read([MARK]).get(MARK)
        through = date.fromisoformat(mark["through"]) if mark else last - LOOK_BACK_DAYS * _DAY
        day = min(through, last) - (LOOK_BACK_DAYS - 1) * _DAY
        while day <= last:
            yield day, day > through
            day += _DAY

    def _finish(self, day: date, now_ms: int, *, is_new: bool) -> str:
        key, (since, until) = day_key(day), self.bounds_ms(day)
        known = self.store.read([key]).get(key)
        if known is None and not is_new:
            # from before the shop's first roll-up
            return ""
        totals = self._totals(since, until)
        if known is None:
            facts = {"zone": self.zone.key, "since": since, "until": until, "rolledUpAt": now_ms}
            return "done" if self._wrote(Put(key, {**totals.attributes, **facts})) else ""
        if Totals(int(known["orders"]), int(known["amount"])) == totals:
            return ""
        unchanged = AllOf(tuple(Compare(name, "=", known[name]) for name in totals.attributes))
        correction = Update(key, set={**totals.attributes, "correctedAt": now_ms}, condition=unchanged)
        return "corrected" if self._wrote(correction) else ""

    def _wrote(self, write: Put | Update) -> bool:
        try:
            self.store.write(write)
        except ConditionFailed:
            # another run was quicker
            return False
        return True

    def _totals(self, since_ms: int, until_ms: int) -> Totals:
        amounts = [
            int(entry["amount"])
            for name in lists_between(since_ms, until_ms)
            for entry in self.ledger.between(name, since_ms, until_ms)
        ]
        return Totals(len(amounts), sum(amounts))

    def _midnight_ms(self, day: date) -> int:
        """A midnight that the clocks skip is the instant at which they do."""
        midnight = datetime(day.year, day.month, day.day, tzinfo=self.zone)
        return (midnight.astimezone(UTC) - EPOCH) // timedelta(milliseconds=1)


def day_key(day: date) -> Key:
    return Key("shop", "rollup", f"day-{day.isoformat()}")
