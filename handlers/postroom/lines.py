"""Lines: the events of one aggregate, taken by an ordered subscriber strictly by their sequence numbers.

A FIFO queue keeps its order until something goes wrong: a stream promises order per item only, a sweep sends
late what the stream missed, a dead letter leaves a gap. So order is not trusted, it is checked: each commit
advances the line's cursor from the number before, in the same transaction as its effect.

What comes early, or behind a dead letter, is parked: kept beside the cursor, acknowledged, and sent again
when its turn has come: by the commit of the event before it, by a redrive of that event, or by an operator
who passes over it. Parking checks the cursor in its own transaction, and whoever advances the cursor looks
for a parked successor afterwards, so one of the two always sees the other.
"""

from dataclasses import dataclass
from typing import Any, Protocol

from . import job_rows
from .deliveries import Delivery
from .errors import Permanent, TransactionCancelled
from .storage import Absent, AnyOf, Check, Compare, Condition, Delete, Item, Key, Put, Store, Update


class Passed(Permanent):
    """An operator has passed over this event: those after it have been taken."""


class LineQueue(Protocol):
    """The FIFO queue of an ordered subscriber."""

    def send_again(self, body: str, group: str, publication: str) -> None:
        """Put a message back at the end of its group. Raises `Transient`."""


@dataclass(frozen=True, slots=True)
class Line:
    """One aggregate's events, for one subscriber."""

    subscriber: str
    aggregate: str

    @property
    def cursor(self) -> Key:
        """The number of the last event taken; the item is absent before the first."""
        return Key("jobs", f"line-{self.subscriber}-{self.aggregate}", "cursor")

    def place(self, sequence: int) -> Key:
        """Where the event of that number is kept while it waits."""
        return Key("jobs", self.cursor.pk, f"parked-{sequence:012d}")

    def advance(self, sequence: int) -> Update:
        """Take one event: refused unless the one before it was the last taken."""
        return Update(self.cursor, set={"sequence": sequence}, condition=_is_next(sequence))


def line_of(delivery: Delivery[Any]) -> Line:
    return Line(delivery.job_type.subscriber, delivery.event.aggregate)


def is_early(delivery: Delivery[Any], cursor: Item | None) -> bool:
    """Whether one before it is still missing; otherwise a refused event has been passed over."""
    return int((cursor or {}).get("sequence", 0)) < delivery.event.sequence - 1


def park(delivery: Delivery[Any], store: Store, now: float) -> bool:
    """Keep an early event and its job's state; False when its turn has come meanwhile.

    Raises `PostroomError` when it could not be kept: the record must then come back by itself.
    """
    line, sequence = line_of(delivery), delivery.event.sequence
    kept = {
        "body": delivery.record.body,
        "publication": delivery.record.publication,
        "event": delivery.event.id,
    }
    still_early = AnyOf((Absent("sequence"), Compare("sequence", "<", sequence - 1)))
    try:
        store.transact(
            [
                job_rows.parked(delivery, now),
                Put(line.place(sequence), kept, condition=None),
                Check(line.cursor, still_early),
            ]
        )
    except TransactionCancelled as cancelled:
        turn = cancelled.reasons[2]
        if turn is not None and turn.is_condition:
            return False
        raise
    return True


def release_next(line: Line, sequence: int, store: Store, queue: LineQueue) -> bool:
    """Send the event after `sequence` again if it is parked. Harmless when repeated: copies collapse.

    One that has been sent and has failed since is not parked any more, though its place is kept until it is
    taken: its message is in the queue, or dead, and only a redrive may bring that back.
    """
    place = line.place(sequence + 1)
    parked = store.read([place]).get(place)
    if parked is None:
        return False
    row_key = Key("jobs", str(parked["event"]), line.subscriber)
    if store.read([row_key]).get(row_key, {}).get("state", "parked") != "parked":
        return False
    queue.send_again(str(parked["body"]), line.aggregate, str(parked["publication"]))
    return True


def pass_over(line: Line, sequence: int, store: Store, queue: LineQueue) -> bool:
    """Let the line go on without the event of that number; returns whether a parked one follows.

    Raises `ConditionFailed` when it is not the next one. Safe to repeat: the release is tried again.
    """
    taken = store.read([line.cursor]).get(line.cursor, {})
    if int(taken.get("sequence", 0)) != sequence:
        store.write(line.advance(sequence))
    store.write(Delete(line.place(sequence)))
    return release_next(line, sequence, store, queue)


def _is_next(sequence: int) -> Condition:
    return Absent("sequence") if sequence == 1 else Compare("sequence", "=", sequence - 1)
