"""Accept work once: the entity, its event, its idempotency record and its status header are one item.

There is no in-progress mark, hence none that can get stuck: the item's id is derived from the request, and
the conditional put of it decides every race.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Generic, Literal, TypeVar

from pydantic import BaseModel
from typing_extensions import TypedDict

from . import outbox, strict_json
from .bodies import read_body
from .errors import ConditionFailed, Transient
from .events import Event
from .http import Answer, Request
from .idempotency import HEADER, REPLAYED, derived_id, fingerprint_of, key_of, settlement_key
from .operations import Operation, Reply
from .problems import FieldError, Problem
from .storage import Item, Key, Put, Store

logger = logging.getLogger("postroom.acceptance")

POLL_AFTER_SECONDS = 1
VOIDED = "voided"
"""Marks the place of a request that can never be accepted any more."""

M = TypeVar("M", bound=BaseModel)
S = TypeVar("S")


class AcceptedDocument(TypedDict):
    """Work that is accepted. What becomes of it, `/jobs/{jobId}` tells."""

    status: Literal["queued"]
    jobId: str


ACCEPTED = Reply(
    "Accepted. `Location` tells where to look for what becomes of it. A repeat of the request gets the same "
    "bytes, and `Idempotency-Replayed: true`.",
    AcceptedDocument,
    headers=("Location", "Retry-After", REPLAYED),
    links={"GET /jobs/{id}": "/jobId", "DELETE /jobs/{id}": "/jobId"},
)


@dataclass(frozen=True, slots=True)
class Intent(Generic[M]):
    """A request, read and identified, of which nothing has happened yet."""

    id: str
    fingerprint: str
    caller: str
    trace: str
    payload: M
    path: Mapping[str, str] = field(default_factory=dict)
    """The parameters of the request's path, as the client wrote them."""

    @property
    def settlement_key(self) -> str:
        return settlement_key(self.id, self.fingerprint)


def read_intent(
    request: Request, route: str, model: type[M], identify: Callable[[str, str, str], str] = derived_id
) -> Intent[M]:
    """Raises `Problem` for a request without a usable key or body."""
    key = key_of(request)
    payload = read_body(request, model)
    return Intent(
        id=identify(request.caller, route, key),
        fingerprint=fingerprint_of(payload),
        caller=request.caller,
        trace=request.trace,
        payload=payload,
        path=request.path_parameters,
    )


def key_reused() -> Problem:
    errors = [FieldError(HEADER, "was used before, with another payload")]
    return Problem(422, "idempotency_key_reused", "Use a new key for a new request.", errors=errors)


@dataclass(frozen=True, slots=True)
class Birth:
    """What is to be written: the entity's own attributes and the event it is born with."""

    event: Event[Any]
    attributes: Item


@dataclass(frozen=True, slots=True)
class Work(Generic[M, S]):
    """What a route supplies. `settle` does what the answer depends on; it may raise `Problem`.

    `undo` gives back what was settled for a request that lost a race; it gets the winner's item, which may
    rest on the very same settlement. `identify` makes the id of what a request makes from caller, route and
    key; where it leaves the key out, `other_payload` is what a second, different request is told. `summary`
    and `refusals` are for the route's contract: see `Operation`.
    """

    route: str
    model: type[M]
    key: Callable[[str], Key]
    settle: Callable[[Intent[M]], S]
    undo: Callable[[S, Item], None]
    build: Callable[[Intent[M], S, datetime], Birth]
    identify: Callable[[str, str, str], str] = derived_id
    other_payload: Callable[[], Problem] = key_reused
    summary: str = ""
    refusals: Mapping[int, str] = field(default_factory=dict)

    @property
    def operation(self) -> Operation:
        return accepting(self.route, self.model, self.summary, self.refusals)


def accepting(route: str, model: type[BaseModel], summary: str, refusals: Mapping[int, str]) -> Operation:
    """The contract of a route that answers 202."""
    return Operation(route, summary, {202: ACCEPTED}, refusals, body=model, keyed=True)


@dataclass(frozen=True, slots=True)
class Acceptance(Generic[M, S]):
    """Answers a route's requests: 202 and where to look, the same for every repeat of the request."""

    work: Work[M, S]
    store: Store
    now: Callable[[], datetime]

    @property
    def operations(self) -> Sequence[Operation]:
        return [self.work.operation]

    def __call__(self, request: Request) -> Answer:
        """Raises `Problem` for what cannot be accepted; then nothing has been written."""
        intent = read_intent(request, self.work.route, self.work.model, self.work.identify)
        earlier = self._lookup(intent)
        if earlier is not None:
            return self._repeated(intent, earlier)
        return self._commit(intent, self.work.settle(intent))

    def _lookup(self, intent: Intent[M]) -> Item | None:
        key = self.work.key(intent.id)
        return self.store.read([key]).get(key)

    def _commit(self, intent: Intent[M], settled: S) -> Answer:
        birth = self.work.build(intent, settled, self.now())
        item = _record(intent, birth)
        try:
            self.store.write(Put(self.work.key(intent.id), item))
        except ConditionFailed as refused:
            winner = refused.old or self._lookup(intent)
            if winner is None:
                raise Transient("the item in the way is gone") from refused
            return self._lost(intent, settled, item, winner)
        return accepted(item)

    def _lost(self, intent: Intent[M], settled: S, ours: Item, winner: Item) -> Answer:
        if winner.get("event") == ours["event"]:
            # our own write: the SDK sent it again after the answer to the first had got lost
            return accepted(winner)
        self._undo(settled, winner)
        return self._repeated(intent, winner)

    def _repeated(self, intent: Intent[M], earlier: Item) -> Answer:
        return repeated(intent, earlier, self.work.other_payload)

    def _undo(self, settled: S, winner: Item) -> None:
        try:
            self.work.undo(settled, winner)
        except Exception:
            # a retry of this request is refused before it gets here, so failing it would mend nothing
            logger.exception(
                "settlement.not_undone", extra={"winner": winner["pk"], "route": self.work.route}
            )


def _record(intent: Intent[Any], birth: Birth) -> Item:
    return {**birth.attributes, **outbox.attributes(birth.event), **record_of(intent, birth.event.id)}


def record_of(intent: Intent[Any], event_id: str) -> Item:
    """What a repeat of the request is known by, and what it is answered."""
    document: AcceptedDocument = {"status": "queued", "jobId": event_id}
    body = strict_json.dumps(document)
    return {"owner": intent.caller, "fingerprint": intent.fingerprint, "answer": body}


def tombstone(key: Key, begun_at: float) -> Put:
    """Close the place of a request whose settlement was given back; whichever is written first stands.

    `begun_at` is epoch seconds: when the request was settled that came to nothing.
    """
    return Put(key, {VOIDED: int(begun_at * 1000)})


def repeated(intent: Intent[Any], earlier: Item, other_payload: Callable[[], Problem] = key_reused) -> Answer:
    """The answer that the request had the first time. Raises `Problem` when it was another request's."""
    if VOIDED in earlier:
        detail = "It was not finished, and what was charged has been given back. Use a new key to try again."
        raise Problem(
            409, "request_voided", detail, errors=[FieldError(HEADER, "belongs to a voided request")]
        )
    if earlier["fingerprint"] != intent.fingerprint:
        raise other_payload()
    return accepted(earlier, {REPLAYED: "true"})


def accepted(item: Item, more: Mapping[str, str] | None = None) -> Answer:
    """202, from the item that keeps the answer."""
    location = f"/jobs/{strict_json.loads(item['answer'])['jobId']}"
    headers = {"Location": location, "Retry-After": str(POLL_AFTER_SECONDS), **(more or {})}
    return Answer.json(202, item["answer"], headers)
