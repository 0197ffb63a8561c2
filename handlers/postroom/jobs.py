"""Jobs: one subscriber's work on one event, and how an author declares them.

An author writes a pure function from a `Job` to its effect and decorates it with `commit_job` (the effect is
DynamoDB writes) or `call_job` (the effect is elsewhere). The engine performs the effect, once.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Generic, TypeVar

from .errors import NotFound
from .events import D, Event, EventFamily, EventType
from .retries import RetryPolicy
from .storage import Item, Key, Write

P = TypeVar("P")


class InDoubt(StrEnum):
    """What to do when a claimed call was cut off, or ended in an error that may have come after the deed.

    `RETRY` may do it twice, `DEAD` leaves it to a person: the author knows which is the lesser harm.
    """

    RETRY = "retry"
    DEAD = "dead"


Result = Mapping[str, Any]
"""What a completed job shows its owner: a small JSON object without secrets."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
RETENTION_SECONDS = 45 * 24 * 3600
"""How long a job's row is kept after its last change: longer than any replay (14 days in a dead-letter queue
after 14 in the queue), because the row is what makes a replay harmless."""


LONGEST_RUN_MS = 900_000
"""docs.aws.amazon.com/lambda/latest/dg/configuration-timeout.html"""


@dataclass(frozen=True, slots=True)
class Job(Generic[D]):
    """What a handler function receives: the validated event and the items it asked to load."""

    id: str
    event: Event[D]
    attempt: int
    loaded: Mapping[str, Item | None] = field(default_factory=dict)
    remaining_ms: Callable[[], int] = field(default=lambda: LONGEST_RUN_MS, compare=False)
    """Milliseconds that the invocation has left: a call of many parts stops in time, and tells how far it
    got."""

    @property
    def data(self) -> D:
        return self.event.data

    @property
    def idempotency_key(self) -> str:
        """The same on every run of this job: what a provider deduplicates by."""
        return self.id

    def require(self, name: str) -> Item:
        """A loaded item. Raises `NotFound` (permanent) when it is not in the table."""
        item = self.loaded.get(name)
        if item is None:
            raise NotFound(f"{name} of {self.event.id} does not exist")
        return item


@dataclass(frozen=True, slots=True)
class Commit:
    """The effect is these writes; they and the job's completion are one atomic commit."""

    writes: Sequence[Write]
    result: Result = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Call(Generic[P]):
    """The effect is elsewhere: `fn` gets the provider and returns the job's result.

    It is recorded after the provider said yes, so a crash between repeats it with the same idempotency key.
    `then` are writes that are committed together with the record, or what makes them of the result and the
    time of the commit.
    """

    fn: Callable[[P], Result]
    then: Sequence[Write] | Callable[[Result, datetime], Sequence[Write]] = ()

    def writes(self, result: Result, now: datetime) -> Sequence[Write]:
        return self.then(result, now) if callable(self.then) else self.then


def no_load(_event: Event[Any]) -> Mapping[str, Key]:
    return {}


@dataclass(frozen=True, slots=True)
class JobType(Generic[D]):
    """A subscriber: which event it works on, and how.

    `needs_ms` is the most milliseconds that one record may take: with less left, it is not started.
    `marker` names the effect item that is its own processed marker (an effect with a natural key).
    `waits_in_table` is for waits of hours: they then take up no room among the queue's messages in flight.
    `since` keeps events that are older than the subscriber from waiting for it for ever.
    """

    subscriber: str
    on: EventType[D] | EventFamily[D]
    retry: RetryPolicy
    needs_ms: int
    load: Callable[[Event[D]], Mapping[str, Key]] = no_load
    marker: Callable[[str], Key] | None = None
    since: datetime = EPOCH
    waits_in_table: bool = field(default=False, kw_only=True)

    def job_id(self, event_id: str) -> str:
        return f"{event_id}:{self.subscriber}"

    def row_key(self, event_id: str) -> Key:
        return Key("jobs", event_id, self.subscriber)

    def marker_key(self, event_id: str) -> Key | None:
        return self.marker(event_id) if self.marker else None

    @property
    def is_ordered(self) -> bool:
        """Whether it takes each aggregate's events in their order, from a FIFO queue: see `lines`."""
        return False


@dataclass(frozen=True, slots=True)
class CommitJob(JobType[D]):
    """`ordered` commits the events of an aggregate in the order of their sequence numbers: see `lines`."""

    run: Callable[[Job[D]], Commit] = field(kw_only=True)
    ordered: bool = field(default=False, kw_only=True)

    @property
    def is_ordered(self) -> bool:
        return self.ordered

    def __post_init__(self) -> None:
        if self.ordered and (self.marker or self.retry.deadline_seconds is not None):
            raise ValueError("an ordered job can have neither a marker nor a deadline: both leave gaps")


@dataclass(frozen=True, slots=True)
class CallJob(JobType[D], Generic[D, P]):
    """`claim` says that the provider cannot deduplicate.

    Each call is then claimed first, by one write that holds others off until this invocation must have ended;
    the value decides what becomes of a call that was cut off.
    """

    run: Callable[[Job[D]], Call[P]] = field(kw_only=True)
    claim: InDoubt | None = field(default=None, kw_only=True)


def commit_job(
    subscriber: str,
    *,
    on: EventType[D] | EventFamily[D],
    retry: RetryPolicy | None = None,
    load: Callable[[Event[D]], Mapping[str, Key]] = no_load,
    marker: Callable[[str], Key] | None = None,
    since: datetime = EPOCH,
    needs_ms: int = 1_000,
    ordered: bool = False,
) -> Callable[[Callable[[Job[D]], Commit]], CommitJob[D]]:
    """Declare a subscriber whose effect is DynamoDB writes.

    `ordered` needs a FIFO queue and events of `EventType(ordered=True)`.
    """

    def declare(run: Callable[[Job[D]], Commit]) -> CommitJob[D]:
        return CommitJob(
            subscriber, on, retry or RetryPolicy(), needs_ms, load, marker, since, run=run, ordered=ordered
        )

    return declare


def call_job(
    subscriber: str,
    *,
    on: EventType[D] | EventFamily[D],
    retry: RetryPolicy | None = None,
    load: Callable[[Event[D]], Mapping[str, Key]] = no_load,
    since: datetime = EPOCH,
    needs_ms: int = 8_000,
    claim: InDoubt | None = None,
    waits_in_table: bool = False,
) -> Callable[[Callable[[Job[D]], Call[P]]], CallJob[D, P]]:
    """Declare a subscriber whose effect is a call to a provider.

    `claim` is for providers that cannot deduplicate: see `CallJob` and `InDoubt`. `waits_in_table` needs the
    subscriber to be its event's only one: after a long wait the event is published again.
    """

    def declare(run: Callable[[Job[D]], Call[P]]) -> CallJob[D, P]:
        return CallJob(
            subscriber,
            on,
            retry or RetryPolicy(),
            needs_ms,
            load,
            None,
            since,
            run=run,
            claim=claim,
            waits_in_table=waits_in_table,
        )

    return declare
