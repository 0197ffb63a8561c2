"""The consumer loop: every record of a batch to its own end, and each effect once.

First receives run before suspects; commits of first receives share transactions; whatever cannot start in
the time that is left is given back. The caller acknowledges what has no visibility and reports the rest.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic

from .deliveries import Delivery, settled
from .errors import PostroomError
from .events import D
from .group_commit import GroupCommit, Prepared
from .intake import Intake, is_looked_up_always, take_in
from .jobs import Call, CallJob, CommitJob, Result
from .records import DEAD, Outcome, Record
from .settlement import Settlement, Surroundings

logger = logging.getLogger("postroom.consumer")

Outcomes = Iterator[tuple[Record, Outcome]]


@dataclass(frozen=True, slots=True)
class Consumer(Generic[D]):
    """One subscriber. `perform` makes a `Call` at the provider and returns what the provider said."""

    job_type: CommitJob[D] | CallJob[D, Any]
    around: Surroundings
    perform: Callable[[Call[Any]], Result]

    def handle(self, records: Sequence[Record], remaining_ms: Callable[[], int]) -> dict[str, Outcome]:
        """What became of each record, by message id.

        `remaining_ms` is the invocation's remaining time in milliseconds: a record that may not fit into it
        is given back without having spent an attempt.
        """
        batch = _Batch(Settlement(self.job_type, self.around, self.perform, remaining_ms), [])
        outcomes: dict[str, Outcome] = {}
        for record, outcome in batch.outcomes(records):
            outcomes[record.message_id] = outcome
            logger.info("job.%s", outcome.name, extra=batch.settlement.fields(record))
        return outcomes


@dataclass(frozen=True, slots=True)
class _Batch(Generic[D]):
    """One invocation. `not_started` collects what the remaining time did not allow to run."""

    settlement: Settlement[D]
    not_started: list[Delivery[D]]

    def outcomes(self, records: Sequence[Record]) -> Outcomes:
        try:
            intake = take_in(self.settlement.job_type, records, self.settlement.around.store)
        except PostroomError:
            logger.exception("batch.not_looked_up")
            yield from ((record, Outcome("retrying", self._backoff_seconds(record))) for record in records)
            return
        yield from self._unreadable(intake)
        if self.settlement.is_ordered:
            yield from self._in_order(intake, [record.message_id for record in records])
            return
        grouped, singly = self._divide(intake)
        yield from self._commit_together(grouped)
        yield from self._one_by_one(singly)
        for delivery in self.not_started:
            yield delivery.record, self.settlement.give_back(delivery)

    def _unreadable(self, intake: Intake[D]) -> Outcomes:
        for record, error in intake.unreadable:
            logger.error("record.unreadable", extra={**self.settlement.fields(record), "reason": str(error)})
            yield record, DEAD

    def _divide(self, intake: Intake[D]) -> tuple[list[Delivery[D]], list[Delivery[D]]]:
        """Which deliveries commit together and which are done one by one.

        A write that is its own marker costs half when it stands alone, so it never joins a transaction.
        """
        if is_looked_up_always(self.settlement.job_type):
            return [], [*intake.first, *intake.suspects]
        late = [delivery for delivery in intake.first if self.settlement.is_late(delivery)]
        timely = [delivery for delivery in intake.first if not self.settlement.is_late(delivery)]
        return timely, [*late, *intake.suspects]

    def _commit_together(self, deliveries: list[Delivery[D]]) -> Outcomes:
        ready: list[Prepared] = []
        for delivery in filter(self._has_time_for, deliveries):
            prepared = self.settlement.prepare(delivery)
            if isinstance(prepared, Outcome):
                yield delivery.record, prepared
            else:
                ready.append(prepared)
        around = self.settlement.around
        for job, verdict in GroupCommit(around.store, around.pause).commit(ready):
            yield job.delivery.record, self.settlement.conclude(job, verdict)

    def _one_by_one(self, deliveries: list[Delivery[D]]) -> Outcomes:
        for delivery in deliveries:
            if settled(delivery) or self._has_time_for(delivery):
                yield delivery.record, self.settlement.settle(delivery)

    def _in_order(self, intake: Intake[D], order: Sequence[str]) -> Outcomes:
        """Each aggregate's events in the order they came; nothing runs behind one that was not done."""
        deliveries = sorted(
            [*intake.first, *intake.suspects], key=lambda each: order.index(each.record.message_id)
        )
        ahead: dict[str, Outcome] = {}
        for delivery in deliveries:
            outcome = self._behind(ahead.get(delivery.event.aggregate), delivery)
            if outcome.visibility_seconds is not None:
                ahead[delivery.event.aggregate] = outcome
            yield delivery.record, outcome

    def _behind(self, ahead: Outcome | None, delivery: Delivery[D]) -> Outcome:
        """What follows a dead letter is parked; what follows a retrying one comes back together with it.

        Otherwise each retry of the head would hand its followers out once more, until their own receive
        counts send them to the dead-letter queue unrun.
        """
        if ahead == DEAD:
            return self.settlement.park(delivery)
        if ahead is not None:
            return self.settlement.give_back(delivery, Outcome("behind", ahead.visibility_seconds))
        if settled(delivery) or self.settlement.remaining_ms() >= self.settlement.job_type.needs_ms:
            return self.settlement.settle(delivery)
        return self.settlement.give_back(delivery)

    def _has_time_for(self, delivery: Delivery[D]) -> bool:
        enough = self.settlement.remaining_ms() >= self.settlement.job_type.needs_ms
        if not enough:
            self.not_started.append(delivery)
        return enough

    def _backoff_seconds(self, record: Record) -> int:
        chance = self.settlement.around.chance()
        return self.settlement.job_type.retry.visibility_seconds(record.receive_count, chance)
