"""A record with the job it stands for, and what the job's row says about it."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Generic

from .events import D, Event
from .jobs import Job, JobType
from .records import CANCELLED, DEAD, DUPLICATE, EXPIRED, Outcome, Record
from .storage import Item, Key

OPEN_STATES = ("retrying", "running", "parked")
_SETTLED: Mapping[str, Outcome] = {"completed": DUPLICATE, "cancelled": CANCELLED, "expired": EXPIRED}


@dataclass(frozen=True, slots=True)
class Delivery(Generic[D]):
    """One handing-out of one job. `row` is the job's row as last read, None when absent or unread."""

    job_type: JobType[D]
    record: Record
    event: Event[D]
    row: Item | None = None
    marker: Item | None = None
    to_load: Mapping[str, Key] = field(default_factory=dict)
    loaded: Mapping[str, Item | None] = field(default_factory=dict)
    fault: Exception | None = None
    """Why it cannot run at all: an unreadable payload, or an error in what the author asked to load."""
    is_second_copy: bool = False
    """Whether another record of the same batch stands for the same job: what was read is stale by then."""
    counted: bool = False
    """Whether this run is already in the row's attempts (see `crashed_before`)."""

    @property
    def job_id(self) -> str:
        return self.job_type.job_id(self.event.id)

    @property
    def row_key(self) -> Key:
        return self.job_type.row_key(self.event.id)

    @property
    def status_keys(self) -> list[Key]:
        """Where it stands written whether this job is done."""
        marker = self.job_type.marker_key(self.event.id)
        return [self.row_key, marker] if marker else [self.row_key]

    @property
    def unexplained_receives(self) -> int:
        """Earlier receives of this message that left no trace: runs that crashed or timed out.

        Throttled and undelivered receives look the same, so they too count as runs; but a job only ever dies
        on a run that we saw fail, so a record is never given up without having run.
        """
        accounted = 0
        if self.row is not None and self.row.get("messageId") == self.record.message_id:
            accounted = int(self.row.get("received", 0))
        return max(0, self.record.receive_count - 1 - accounted)

    @property
    def crashed_before(self) -> bool:
        return self.unexplained_receives > 0 or bool(self.row and "starting" in self.row)

    @property
    def attempts_before(self) -> int:
        recorded = int(self.row.get("attempts", 0)) if self.row else 0
        return recorded - 1 if self.counted else recorded + self.unexplained_receives

    @property
    def attempt(self) -> int:
        """Which run of the handler this is, 1 for the first."""
        return self.attempts_before + 1

    @property
    def uncounted_attempts(self) -> int:
        """What a failure of this run adds to the row's attempts."""
        return 0 if self.counted else self.unexplained_receives + 1

    def job(self) -> Job[D]:
        return Job(self.job_id, self.event, self.attempt, self.loaded)

    def informed(self, found: Mapping[Key, Item]) -> "Delivery[D]":
        """With the job's row and marker as just read."""
        marker = self.job_type.marker_key(self.event.id)
        return replace(self, row=found.get(self.row_key), marker=found.get(marker) if marker else None)

    def with_row(self, row: Item | None, *, counted: bool = False) -> "Delivery[D]":
        return replace(self, row=row or None, counted=counted)


def settled(delivery: Delivery[Any]) -> Outcome | None:
    """What is already decided about this delivery, None when the job is to run.

    A dead job runs again only by a redrive: the publication it died with (or one that an operator sent to
    reopen it), under another message id, sent after it died. The same message is on its way to the
    dead-letter queue; any other publication of the same event (a relay's repeat, a sweep) is a duplicate.
    """
    if delivery.marker is not None:
        return DUPLICATE
    if delivery.row is None:
        return None
    state = delivery.row.get("state")
    if state == "dead":
        return None if is_redrive(delivery) else _dead(delivery)
    return _SETTLED.get(str(state))


def seconds_to_wait(delivery: Delivery[Any], now: float) -> int:
    """How long a live claim keeps this delivery off: whole seconds, 0 when there is none.

    `now` is epoch seconds. The claim ends after the invocation that made it must have.
    """
    row = delivery.row or {}
    if row.get("state") != "running":
        return 0
    return max(0, math.ceil(int(row.get("leaseUntil", 0)) / 1000 - now))


def is_cut_off(delivery: Delivery[Any]) -> bool:
    """Whether an earlier claim ended without a word: the provider may or may not have acted."""
    return bool(delivery.row and delivery.row.get("state") == "running")


def is_redrive(delivery: Delivery[Any]) -> bool:
    row, record = delivery.row, delivery.record
    return (
        row is not None
        and row.get("state") == "dead"
        and row.get("messageId") != record.message_id
        and (record.may_reopen or row.get("publication", "") == record.publication)
        and record.sent_at * 1000 > int(row.get("endedAt", 0))
    )


def _dead(delivery: Delivery[Any]) -> Outcome:
    assert delivery.row is not None
    return DEAD if delivery.row.get("messageId") == delivery.record.message_id else DUPLICATE
