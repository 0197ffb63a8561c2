"""Accept a change of what is there: the change, its event and the request's record, in one transaction.

Whichever transaction puts the record first has made the change; every repeat of the request finds it and
gets the same answer. The change is conditional on what was read, so of two at once one is decided anew.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Generic

from .acceptance import Intent, M, accepted, accepting, read_intent, record_of, repeated
from .errors import Permanent, TransactionCancelled, Transient
from .events import Event, EventType
from .http import Answer, Request
from .operations import Operation
from .outbox import event_row
from .storage import Item, Key, Put, Store, Write

TRIES = 5
LONGEST_PAUSE_SECONDS = 0.1

Found = Mapping[str, Item | None]


@dataclass(frozen=True, slots=True)
class Step:
    """The event, and the writes that it tells of; each with a condition on what the decision rests on."""

    event_type: EventType[Any]
    event: Event[Any]
    writes: Sequence[Write]


@dataclass(frozen=True, slots=True)
class Change(Generic[M]):
    """What a route supplies. The request's record lies in the partition that `home` names.

    `decide` gets the items that `load` asks for, None where there is none; it may raise `Problem`.
    `summary` and `refusals` are for the route's contract: see `Operation`.
    """

    route: str
    model: type[M]
    home: Callable[[Intent[M]], str]
    load: Callable[[Intent[M]], Mapping[str, Key]]
    decide: Callable[[Intent[M], Found, datetime], Step]
    summary: str = ""
    refusals: Mapping[int, str] = field(default_factory=dict)

    @property
    def operation(self) -> Operation:
        return accepting(self.route, self.model, self.summary, self.refusals)


@dataclass(frozen=True, slots=True)
class Changes(Generic[M]):
    """Answers a route's requests: 202 and where to look. `pause` waits for at most so many seconds."""

    change: Change[M]
    store: Store
    now: Callable[[], datetime]
    pause: Callable[[float], None]

    @property
    def operations(self) -> Sequence[Operation]:
        return [self.change.operation]

    def __call__(self, request: Request) -> Answer:
        """Raises `Problem` for what cannot be accepted, `Transient` when others kept being quicker."""
        route = self.change.route.format_map(request.path_parameters)
        intent = read_intent(request, route, self.change.model)
        record = Key("shop", self.change.home(intent), f"request-{intent.id}")
        for _ in range(TRIES):
            answer = self._try(intent, record)
            if answer is not None:
                return answer
            self.pause(LONGEST_PAUSE_SECONDS)
        raise Transient("others kept changing the same item")

    def _try(self, intent: Intent[M], record: Key) -> Answer | None:
        keys = self.change.load(intent)
        found = self.store.read([record, *keys.values()])
        if record in found:
            return repeated(intent, found[record])
        loaded = {name: found.get(key) for name, key in keys.items()}
        step = self.change.decide(intent, loaded, self.now())
        kept = record_of(intent, step.event.id)
        writes = [Put(record, kept), event_row(step.event_type, step.event), *step.writes]
        try:
            self.store.transact(writes)
        except TransactionCancelled as cancelled:
            if cancelled.hopeless:
                raise Permanent(f"the database refuses a write: {cancelled.hopeless}") from cancelled
            # somebody was quicker, perhaps this very request: what is there now tells
            return None
        return accepted(kept)
