"""Later: an event that is to be published again at a time of its own, kept in the table until then.

A message can wait in its queue, invisible, for 12 hours at most, and all that do so count towards the 120,000
that a queue may have in flight. Longer waits stand in the event's row, in a sparse index by due time.
docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-messages.html
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from .errors import ConditionFailed, PostroomError
from .events import Event, EventFamily, EventType
from .outbox import shard_of, shards
from .relay import OutboxRow, Topic, batches
from .storage import Compare, Exists, Item, Key, Store, Update

logger = logging.getLogger("postroom.later")

LONGEST_IN_QUEUE_SECONDS = 900
PAGE_ROWS = 100
LEAST_REMAINING_MS = 10_000


def put_off(event_type: EventType[Any] | EventFamily[Any], event: Event[Any], until: float) -> Update:
    """Have the event published again at `until` (epoch seconds). Refused when its row has expired."""
    return Update(
        event_type.row_key(event.id),
        set={"due": shard_of(event.aggregate), "dueAt": int(until * 1000)},
        condition=Exists("event"),
    )


class DueIndex(Protocol):
    def due(self, shard: str, before_ms: int, limit: int) -> list[Key]:
        """Rows of a shard that are due before the given epoch milliseconds, longest due first."""


@dataclass(frozen=True, slots=True)
class DuePublisher:
    """Publishes what has come due. At least once, like the relay. `new_id` makes publication ids."""

    topic: Topic
    store: Store
    index: DueIndex
    new_id: Callable[[], str]

    def run(self, now: float, remaining_ms: Callable[[], int]) -> int:
        """Returns how many rows were published. `now` is epoch seconds.

        What the time does not allow, or the topic does not take, is due in the next run as well.
        """
        return sum(self._drained(shard, int(now * 1000), remaining_ms) for shard in shards())

    def _drained(self, shard: str, before_ms: int, remaining_ms: Callable[[], int]) -> int:
        try:
            return self._drain(shard, before_ms, remaining_ms)
        except PostroomError as error:
            logger.warning("later.not_published", exc_info=error, extra={"shard": shard})
            return 0

    def _drain(self, shard: str, before_ms: int, remaining_ms: Callable[[], int]) -> int:
        total = 0
        while remaining_ms() >= LEAST_REMAINING_MS:
            keys = self.index.due(shard, before_ms, PAGE_ROWS)
            published = self._publish(self._still_due(keys, before_ms)) if keys else 0
            total += published
            if len(keys) < PAGE_ROWS or not published:
                break
        return total

    def _still_due(self, keys: Sequence[Key], before_ms: int) -> dict[Key, Item]:
        """The index is eventually consistent: the row itself says whether it is due."""
        items = self.store.read(keys)
        return {key: items[key] for key in keys if 0 < items.get(key, {}).get("dueAt", 0) <= before_ms}

    def _publish(self, items: dict[Key, Item]) -> int:
        published = 0
        for _, batch in batches([OutboxRow.from_item(key, item) for key, item in items.items()]):
            rejected = {
                each.index: each for each in self.topic.publish([row.entry(self.new_id()) for row in batch])
            }
            for each in rejected.values():
                logger.warning(
                    "later.rejected", extra={"row": batch[each.index].key.pk, "reason": each.reason}
                )
            taken = [row.key for index, row in enumerate(batch) if index not in rejected]
            for key in taken:
                self._clear(key, items[key])
            published += len(taken)
        return published

    def _clear(self, key: Key, seen: Item) -> None:
        try:
            self.store.write(
                Update(key, remove=("due", "dueAt"), condition=Compare("dueAt", "=", seen["dueAt"]))
            )
        except ConditionFailed:
            # already run, failed and put off anew: that due time is not ours to clear
            return
