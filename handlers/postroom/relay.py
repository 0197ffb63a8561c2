"""The relay: publish what the table promised, in order, and mark it once the topic has confirmed.

At least once by design: a crash between publish and mark publishes again, and every subscriber collapses
repeats by the event's id.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from .errors import ConditionFailed, Permanent, PostroomError, Unreadable
from .events import read_envelope
from .outbox import REFUSED, message_group
from .storage import Item, Key, Store, Update

logger = logging.getLogger("postroom.relay")

BATCH_ENTRIES = 10
BATCH_BYTES = 256 * 1024 - 4 * 1024
"""A topic takes 10 entries and 256 KiB a batch, attributes included; we leave room for the attributes.
docs.aws.amazon.com/sns/latest/api/API_PublishBatch.html"""
MARK_ROWS = 25
PUBLISH_TRIES = 3
READ_AFTER_SECONDS = 60
"""From this age on a row may have been published by the sweep, so it is read before it is published."""


@dataclass(frozen=True, slots=True)
class OutboxRow:
    """One promise: the item that carries it and the event's text."""

    key: Key
    event: str
    ordered: bool = False

    @classmethod
    def from_item(cls, key: Key, item: Item) -> "OutboxRow":
        return cls(key, str(item["event"]), bool(item.get("ordered")))

    def entry(self, publication: str) -> "Entry":
        """What to publish for it. Raises `Unreadable` when the text is not an event."""
        envelope = read_envelope(self.event)
        group = message_group(envelope.aggregate) if self.ordered else ""
        return Entry(self.event, envelope.type, publication, group)


@dataclass(frozen=True, slots=True)
class Entry:
    """What goes to a topic: the message, its two attributes, and its message group on the FIFO topic."""

    message: str
    event_type: str
    publication: str
    group: str = ""


@dataclass(frozen=True, slots=True)
class Rejection:
    """One entry that the topic did not take; `by_sender` means that it never will."""

    index: int
    by_sender: bool
    reason: str


class Topic(Protocol):
    def publish(self, entries: Sequence[Entry]) -> Sequence[Rejection]:
        """Publish up to 10 entries, all with a group or none, in one call; returns those not taken.

        Raises `Transient` when the call as a whole failed, `Permanent` when it always will.
        """


class Outbox(Store, Protocol):
    """The store with the relay's two operations on the index of the unpublished."""

    def mark_published(self, keys: Sequence[Key]) -> None: ...

    def outstanding(self, shard: str, before_ms: int, limit: int) -> list[Key]: ...

    def oldest_outstanding(self, shard: str) -> int | None: ...


@dataclass(frozen=True, slots=True)
class Relay:
    """`new_id` makes publication ids; `sleep` and `chance` spread the tries at a busy topic."""

    topic: Topic
    outbox: Outbox
    new_id: Callable[[], str]
    sleep: Callable[[float], None]
    chance: Callable[[], float]

    def publish(self, rows: Sequence[OutboxRow]) -> int | None:
        """Publish rows in order and mark them. Returns the index of the first one that is still to go.

        It stops there: whatever came after it would go out twice when the stream rewinds to it.
        """
        published: list[Key] = []
        first_left: int | None = None
        for start, batch in batches(rows):
            sent, first_failed = self._publish_batch(batch)
            published += sent
            if first_failed is not None:
                first_left = start + first_failed
                break
            if len(published) >= MARK_ROWS:
                self._mark(published[:MARK_ROWS])
                published = published[MARK_ROWS:]
        self._mark(published)
        return first_left

    def _publish_batch(self, rows: Sequence[OutboxRow]) -> tuple[list[Key], int | None]:
        """The keys that went out, and the index of the first row that could not."""
        waiting = self._entries(rows)
        sent: list[Key] = []
        for attempt in range(PUBLISH_TRIES):
            if not waiting:
                break
            if attempt:
                self.sleep(self.chance() * 0.1 * 2**attempt)
            waiting, taken = self._try(rows, waiting)
            sent += taken
        return sent, min(waiting, default=None)

    def _entries(self, rows: Sequence[OutboxRow]) -> dict[int, Entry]:
        entries = {}
        for index, row in enumerate(rows):
            try:
                entries[index] = row.entry(self.new_id())
            except Unreadable as error:
                self._set_aside(row.key, str(error))
        return entries

    def _try(
        self, rows: Sequence[OutboxRow], waiting: dict[int, Entry]
    ) -> tuple[dict[int, Entry], list[Key]]:
        indexes = list(waiting)
        try:
            rejections = self.topic.publish(list(waiting.values()))
        except Permanent as error:
            return self._try_apart(rows, waiting, error)
        except PostroomError as error:
            logger.warning("relay.publish_failed", exc_info=error)
            return waiting, []
        rejected = {indexes[rejection.index]: rejection for rejection in rejections}
        for index, rejection in rejected.items():
            if rejection.by_sender:
                self._set_aside(rows[index].key, rejection.reason)
        taken = [rows[index].key for index in indexes if index not in rejected]
        again = {index: waiting[index] for index, rejection in rejected.items() if not rejection.by_sender}
        return again, taken

    def _try_apart(
        self, rows: Sequence[OutboxRow], waiting: dict[int, Entry], refusal: Permanent
    ) -> tuple[dict[int, Entry], list[Key]]:
        """A call that the topic will never take, without a word on which entry is to blame."""
        if len(waiting) == 1:
            self._set_aside(rows[next(iter(waiting))].key, str(refusal))
            return {}, []
        again: dict[int, Entry] = {}
        taken: list[Key] = []
        for index, entry in waiting.items():
            left, sent = self._try(rows, {index: entry})
            again |= left
            taken += sent
        return again, taken

    def _set_aside(self, key: Key, reason: str) -> None:
        """A row that the topic will never take must not stop its shard: it is listed as refused."""
        logger.error("relay.row_refused", extra={"row": key.pk, "reason": reason})
        try:
            self.outbox.write(Update(key, set={"unpublished": REFUSED, "refusal": reason[:300]}))
        except ConditionFailed:
            # it has been deleted, or has expired: nothing is owed any more
            return

    def _mark(self, keys: Sequence[Key]) -> None:
        """An unmarked row is published again by the sweep, which every subscriber takes for a repeat."""
        try:
            if keys:
                self.outbox.mark_published(keys)
        except PostroomError as error:
            logger.warning("relay.mark_failed", exc_info=error, extra={"rows": len(keys)})


@dataclass(frozen=True, slots=True)
class StreamRecord:
    """An insert that carries an event. `born_at` is epoch seconds, as the stream tells it."""

    sequence_number: str
    row: OutboxRow
    born_at: float


def relay_stream(records: Sequence[StreamRecord], relay: Relay, now: float) -> str | None:
    """Relay a stream batch. Returns the sequence number to rewind to, None when all went out."""
    due = list(_still_due(records, relay.outbox, now))
    first_left = relay.publish([record.row for record in due])
    return None if first_left is None else due[first_left].sequence_number


def _still_due(records: Sequence[StreamRecord], outbox: Store, now: float) -> Iterator[StreamRecord]:
    """Without the rows that somebody has published since: a relay back from an outage repeats nothing."""
    late = [record.row.key for record in records if now - record.born_at >= READ_AFTER_SECONDS]
    rows: dict[Key, Item] = outbox.read(late) if late else {}
    for record in records:
        if record.row.key not in late or "unpublished" in rows.get(record.row.key, {}):
            yield record


def batches(rows: Sequence[OutboxRow]) -> Iterator[tuple[int, Sequence[OutboxRow]]]:
    """Runs of rows that fit one call to one topic, each with the index of its first row; order is kept."""
    start = size = 0
    for index, row in enumerate(rows):
        own = len(row.event.encode())
        full = index - start == BATCH_ENTRIES or size + own > BATCH_BYTES
        if index > start and (full or row.ordered != rows[start].ordered):
            yield start, rows[start:index]
            start, size = index, 0
        size += own
    if start < len(rows):
        yield start, rows[start:]
