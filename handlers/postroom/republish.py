"""One event again, for one subscriber, straight to its queue: nobody else hears of it.

It is a publication of its own, so by itself it is a duplicate wherever the job has an outcome: it serves the
event that one subscriber has never seen. With `reopen` it also starts a dead job again, which is what to do
when the dead letter is gone and there is nothing left to redrive.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from .errors import NotFound, Permanent
from .events import Envelope, read_envelope
from .jobs import RETENTION_SECONDS, JobType
from .outbox import message_group
from .records import REOPEN, REPUBLISH
from .storage import Store

MESSAGE_LIFE_SECONDS = 28 * 24 * 3600
"""How long after it was sent a message may be worked on: 14 days in the queue, 14 more as a dead letter."""
OLDEST_SECONDS = RETENTION_SECONDS - MESSAGE_LIFE_SECONDS
"""How old an event may be: its message must not outlive the row that tells a repeat from a first time."""


class TooOld(Permanent):
    """What makes a repeat harmless may expire before the message does: the job's row."""


class SubscriberQueue(Protocol):
    def send(self, body: str, attributes: Mapping[str, str], group: str = "") -> str:
        """Put a message into the queue, a FIFO one's into a group; returns its id. Raises `Transient`."""


class Sent(NamedTuple):
    message_id: str
    publication: str


@dataclass(frozen=True, slots=True)
class Republisher:
    """`queue_of` gives a subscriber's queue, `new_id` publication ids, `clock` epoch seconds."""

    store: Store
    queue_of: Callable[[JobType[Any]], SubscriberQueue]
    new_id: Callable[[], str]
    clock: Callable[[], float]

    def send(
        self, event_id: str, to: JobType[Any], *, reopen: bool = False, first_time: bool = False
    ) -> Sent:
        """`first_time` says that the subscriber cannot have had it before, however old it is.

        In a line it may be of any age: there a repeat stumbles over the cursor, which never expires.
        Raises `NotFound` when the subscriber's type has no such event, `TooOld`, or `Transient`.
        """
        text, envelope = self._event(event_id, to)
        may_be_repeated = first_time or to.is_ordered
        if not may_be_repeated and self.clock() - envelope.time.timestamp() >= OLDEST_SECONDS:
            raise TooOld(f"{event_id} is older than {OLDEST_SECONDS // 86_400} days: it might be done twice")
        publication = self.new_id()
        attributes = {"type": envelope.type, "publication": publication}
        if reopen:
            attributes[REPUBLISH] = REOPEN
        group = message_group(envelope.aggregate)
        return Sent(self.queue_of(to).send(text, attributes, group), publication)

    def _event(self, event_id: str, to: JobType[Any]) -> tuple[str, Envelope]:
        event_type = to.on.type_of(event_id)
        if event_type is None:
            raise NotFound(f"{to.subscriber} works on {to.on.name}, and {event_id} is none")
        key = event_type.row_key(event_id)
        text = str(self.store.read([key]).get(key, {}).get("event", ""))
        envelope = read_envelope(text) if text else None
        if envelope is None or (envelope.id, envelope.type) != (event_id, event_type.name):
            raise NotFound(f"there is no {event_type.name} event {event_id}")
        return text, envelope
