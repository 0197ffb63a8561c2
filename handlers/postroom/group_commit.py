"""Commit the jobs of a batch together: one transaction for many, and a culprit costs the others one call.

A transaction takes at most 100 items and 4 MB, and no item twice.
Source: docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from .deliveries import Delivery
from .errors import CancelledBecause, Permanent, TransactionCancelled, Transient
from .jobs import Result
from .storage import Key, Store, Write

MAX_ITEMS = 100
MAX_BYTES = 3_500_000
"""Below the limit of 4 MB by more than our estimate of an item's size can be off."""
CONFLICT_TRIES = 3
LONGEST_PAUSE_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Prepared:
    """A job whose function has run: all that is left is to write. The first write settles the job's row."""

    delivery: Delivery[Any]
    writes: Sequence[Write]
    result: Result

    @property
    def estimated_bytes(self) -> int:
        return sum(len(repr(write).encode()) for write in self.writes)


@dataclass(frozen=True, slots=True)
class Refusal:
    """One job's writes were refused: which write (index into its writes) and why."""

    prepared: Prepared
    index: int
    reason: CancelledBecause

    @property
    def write(self) -> Write:
        return self.prepared.writes[self.index]

    def verdict(self) -> "Verdict":
        """A condition is for the job's settlement to read; anything else says nothing of the job's state."""
        if self.reason.is_condition:
            return self
        if self.reason.is_hopeless:
            return Permanent(f"the database refuses a write to {self.write.key}: {self.reason}")
        return Transient(f"the commit was cancelled again and again: {self.reason}")


Verdict = Refusal | Exception | None
"""None: committed. A refusal: a condition did not hold. An exception: this job's writes failed otherwise."""


@dataclass(frozen=True, slots=True)
class GroupCommit:
    """Commits jobs in as few transactions as the limits allow. `pause` waits for at most so many seconds."""

    store: Store
    pause: Callable[[float], None]

    def commit(self, jobs: Sequence[Prepared]) -> Iterator[tuple[Prepared, Verdict]]:
        """Every job with what became of it. One job's failure is never another's."""
        for group in pack(jobs):
            yield from self._commit(group, CONFLICT_TRIES)

    def _commit(self, group: list[Prepared], tries: int) -> Iterator[tuple[Prepared, Verdict]]:
        try:
            self.store.transact([write for job in group for write in job.writes])
        except TransactionCancelled as cancelled:
            yield from self._after(cancelled, group, tries)
        except Transient as error:
            yield from ((job, error) for job in group)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is one job's, and bisection says whose
            yield from self._bisect(group, error, tries)
        else:
            yield from ((job, None) for job in group)

    def _after(
        self, cancelled: TransactionCancelled, group: list[Prepared], tries: int
    ) -> Iterator[tuple[Prepared, Verdict]]:
        culprits = _culprits(group, cancelled)
        if not culprits:
            yield from self._bisect(group, cancelled, tries)
            return
        conflict = any(refusal.reason.is_conflict for refusal in culprits.values())
        again = []
        for number, job in enumerate(group):
            refusal = culprits.get(number)
            if refusal is None or (refusal.reason.is_conflict and tries > 1):
                again.append(job)
            else:
                yield job, refusal.verdict()
        if again:
            if conflict:
                self.pause(LONGEST_PAUSE_SECONDS)
            yield from self._commit(again, tries - conflict)

    def _bisect(
        self, group: list[Prepared], error: Exception, tries: int
    ) -> Iterator[tuple[Prepared, Verdict]]:
        """Nobody is named: halve the group until the culprit stands alone."""
        if len(group) == 1:
            yield group[0], error
            return
        middle = len(group) // 2
        yield from self._commit(group[:middle], tries)
        yield from self._commit(group[middle:], tries)


def pack(jobs: Sequence[Prepared]) -> list[list[Prepared]]:
    """Split jobs into groups that fit one transaction each, in order."""
    groups: list[list[Prepared]] = []
    keys: set[Key] = set()
    items = size = 0
    for job in jobs:
        own_keys = {write.key for write in job.writes}
        fits = items + len(job.writes) <= MAX_ITEMS and size + job.estimated_bytes <= MAX_BYTES
        if not groups or not fits or keys & own_keys:
            groups.append([])
            keys, items, size = set(), 0, 0
        groups[-1].append(job)
        keys |= own_keys
        items += len(job.writes)
        size += job.estimated_bytes
    return groups


def _culprits(group: list[Prepared], cancelled: TransactionCancelled) -> dict[int, Refusal]:
    """By the job's place in the group: the first of its writes that a cancellation reason names."""
    reasons = iter(cancelled.reasons)
    culprits: dict[int, Refusal] = {}
    for number, job in enumerate(group):
        named = [(index, next(reasons, None)) for index in range(len(job.writes))]
        for index, reason in named:
            if reason is not None:
                culprits.setdefault(number, Refusal(job, index, reason))
    return culprits
