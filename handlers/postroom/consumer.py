"""The consumer loop: every record of a batch to its own end, and each effect once.

First receives run before suspects; commits of first receives share transactions; whatever cannot start in
the time that is left is given back. The caller acknowledges what has no visibility and reports the rest.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic

from . import job_rows
from .deliveries import Delivery, is_redrive, settled
from .errors import AlreadyDone, CancelledBecause, ConditionFailed, Permanent
from .events import D
from .group_commit import GroupCommit, Prepared, Refusal, Verdict
from .intake import Intake, take_in
from .jobs import Call, CallJob, Commit, CommitJob, Result
from .records import COMPLETED, DEAD, DUPLICATE, EXPIRED, GIVEN_BACK, Outcome, Record
from .retries import is_permanent, retry_after_seconds
from .storage import Put, Store, Write

logger = logging.getLogger("postroom.consumer")

Outcomes = Iterator[tuple[Record, Outcome]]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a consumer needs from outside. `clock` gives epoch seconds, `chance` is uniform in [0, 1)."""

    store: Store
    clock: Callable[[], float]
    chance: Callable[[], float]
    sleep: Callable[[float], None]

    def pause(self, longest_seconds: float) -> None:
        self.sleep(self.chance() * longest_seconds)


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
        outcomes: dict[str, Outcome] = {}
        for record, outcome in self._outcomes(records, remaining_ms):
            outcomes[record.message_id] = outcome
            logger.info("job.%s", outcome.name, extra=self._fields(record))
        return outcomes

    def _outcomes(self, records: Sequence[Record], remaining_ms: Callable[[], int]) -> Outcomes:
        intake = take_in(self.job_type, records, self.around.store)
        for record, error in intake.unreadable:
            logger.error("record.unreadable", extra={**self._fields(record), "reason": str(error)})
            yield record, DEAD
        grouped, singly = self._divide(intake)
        timely = [delivery for delivery in grouped if not self._is_late(delivery)]
        late = [delivery for delivery in grouped if self._is_late(delivery)]
        not_started: list[Delivery[D]] = []
        yield from self._commit_together(timely, remaining_ms, not_started)
        for delivery in [*late, *singly]:
            if remaining_ms() < self.job_type.needs_ms and settled(delivery) is None:
                not_started.append(delivery)
            else:
                yield delivery.record, self._one(delivery)
        for delivery in not_started:
            yield delivery.record, self._give_back(delivery)

    def _divide(self, intake: Intake[D]) -> tuple[list[Delivery[D]], list[Delivery[D]]]:
        """Which deliveries commit together and which are done one by one.

        A write that is its own marker costs half when it stands alone, so it never joins a transaction.
        """
        if isinstance(self.job_type, CommitJob) and self.job_type.marker is None:
            return intake.first, intake.suspects
        return [], [*intake.first, *intake.suspects]

    def _commit_together(
        self, deliveries: list[Delivery[D]], remaining_ms: Callable[[], int], not_started: list[Delivery[D]]
    ) -> Outcomes:
        prepared: list[Prepared] = []
        for delivery in deliveries:
            if remaining_ms() < self.job_type.needs_ms:
                not_started.append(delivery)
                continue
            try:
                prepared.append(self._prepare(delivery, self._run(delivery)))
            except Exception as error:  # noqa: BLE001 - the author's function may raise anything
                yield delivery.record, self._fail(delivery, error)
        for job, verdict in GroupCommit(self.around.store, self.around.pause).commit(prepared):
            yield job.delivery.record, self._conclude(job, verdict)

    def _one(self, delivery: Delivery[D]) -> Outcome:
        """One delivery from what its row says to its outcome."""
        try:
            ready = self._ready(self._refreshed(delivery))
        except Exception as error:  # noqa: BLE001 - whatever it is, the record comes back
            return self._unrecorded(delivery, error)
        if isinstance(ready, Outcome):
            return ready
        try:
            prepared = self._prepare(ready, self._run(ready))
        except Exception as error:  # noqa: BLE001 - the author's function or the provider may raise anything
            return self._fail(ready, error)
        return self._conclude(prepared, self._commit_alone(prepared))

    def _refreshed(self, delivery: Delivery[D]) -> Delivery[D]:
        if not delivery.is_second_copy:
            return delivery
        found = self.around.store.read(delivery.status_keys)
        return replace(delivery.informed(found), is_second_copy=False)

    def _ready(self, delivery: Delivery[D]) -> Delivery[D] | Outcome:
        """The delivery, ready to run; or its outcome, when there is nothing to run."""
        decided = settled(delivery)
        try:
            if decided:
                return self._already(delivery, decided)
            if is_redrive(delivery):
                row = self.around.store.write(job_rows.reopened(delivery, self._now()))
                delivery = delivery.with_row(row)
            if self._is_late(delivery):
                self.around.store.write(job_rows.expired(delivery, self._now()))
                return EXPIRED
            if delivery.crashed_before:
                row = self.around.store.write(job_rows.starting(delivery, self._now()))
                delivery = delivery.with_row(row, counted=True)
        except ConditionFailed as refused:
            return settled(delivery.with_row(refused.old)) or DUPLICATE
        return delivery

    def _already(self, delivery: Delivery[D], decided: Outcome) -> Outcome:
        row_is_open = delivery.row is not None and "open" in delivery.row
        if delivery.marker is not None and row_is_open:
            result = delivery.marker.get("job", {}).get("result", {})
            self.around.store.write(job_rows.completed(delivery, result, self._now()))
        return decided

    def _run(self, delivery: Delivery[D]) -> Commit:
        """Run the author's function, and the call it asks for, down to the writes that are left to make."""
        if delivery.unreadable:
            raise delivery.unreadable
        effect = self.job_type.run(delivery.job())
        if isinstance(effect, Call):
            return Commit(effect.then, self.perform(effect))
        return effect

    def _prepare(self, delivery: Delivery[D], commit: Commit) -> Prepared:
        marker = self.job_type.marker_key(delivery.event.id)
        writes: list[Write] = list(commit.writes)
        if marker:
            writes = [_self_marking(writes, delivery, commit.result, self._now())]
        if not marker or delivery.row is not None:
            writes = [job_rows.completed(delivery, commit.result, self._now()), *writes]
        return Prepared(delivery, writes, commit.result)

    def _commit_alone(self, prepared: Prepared) -> Verdict:
        if len(prepared.writes) > 1:
            together = GroupCommit(self.around.store, self.around.pause).commit([prepared])
            return next(verdict for _, verdict in together)
        try:
            self.around.store.write(prepared.writes[0])
        except ConditionFailed as refused:
            return Refusal(prepared, 0, CancelledBecause("ConditionalCheckFailed", "", refused.old))
        except Exception as error:  # noqa: BLE001 - judged like any failure of a commit
            return error
        return None

    def _conclude(self, prepared: Prepared, verdict: Verdict) -> Outcome:
        delivery: Delivery[D] = prepared.delivery
        if verdict is None:
            return COMPLETED
        if isinstance(verdict, Exception):
            # a provider that has said yes must not end in a dead job because we could not write it down
            called = isinstance(self.job_type, CallJob)
            return self._unrecorded(delivery, verdict) if called else self._fail(delivery, verdict)
        if verdict.write.key == delivery.row_key:
            return self._one(delivery.with_row(verdict.reason.old))
        refused = verdict.write.refused or Permanent(f"the condition of a write to {verdict.write.key} fails")
        if verdict.write.key == self.job_type.marker_key(delivery.event.id):
            refused = AlreadyDone("the effect is there")
        return self._refuse(prepared, refused)

    def _refuse(self, prepared: Prepared, refused: Exception) -> Outcome:
        """An effect's own condition did not hold: it is there already, or the domain says no."""
        if not isinstance(refused, AlreadyDone):
            return self._fail(prepared.delivery, refused)
        if len(prepared.writes) == 1:
            return DUPLICATE
        try:
            self.around.store.write(
                job_rows.completed(prepared.delivery, prepared.result, self._now()),
            )
        except ConditionFailed:
            return DUPLICATE
        except Exception as error:  # noqa: BLE001 - the effect stands; only its record is still missing
            return self._unrecorded(prepared.delivery, error)
        return DUPLICATE

    def _fail(self, delivery: Delivery[D], error: Exception) -> Outcome:
        dead = is_permanent(error) or delivery.attempt >= self.job_type.retry.attempts
        fields = {**self._fields(delivery.record), "job": delivery.job_id, "attempt": delivery.attempt}
        logger.warning("job.attempt_failed", exc_info=error, extra=fields)
        try:
            self.around.store.write(job_rows.failed(delivery, error, dead=dead, now=self._now()))
        except ConditionFailed as refused:
            return self._one(delivery.with_row(refused.old))
        except Exception as unwritable:  # noqa: BLE001 - an unrecorded failure is taken for a crash next time
            return self._unrecorded(delivery, unwritable)
        return DEAD if dead else Outcome("retrying", self._backoff_seconds(delivery, error))

    def _unrecorded(self, delivery: Delivery[D], error: Exception) -> Outcome:
        """Nothing could be written about this run: the record comes back, the job's row stays as it is."""
        logger.error("job.unrecorded", exc_info=error, extra=self._fields(delivery.record))
        return Outcome("retrying", self._backoff_seconds(delivery, error))

    def _give_back(self, delivery: Delivery[D]) -> Outcome:
        try:
            self.around.store.write(job_rows.given_back(delivery, self._now()))
        except Exception as error:
            logger.warning("job.give_back_unrecorded", exc_info=error, extra=self._fields(delivery.record))
        return GIVEN_BACK

    def _backoff_seconds(self, delivery: Delivery[D], error: Exception) -> int:
        return self.job_type.retry.visibility_seconds(
            delivery.attempt, self.around.chance(), retry_after_seconds(error)
        )

    def _is_late(self, delivery: Delivery[D]) -> bool:
        deadline_seconds = self.job_type.retry.deadline_seconds
        age_seconds = self._now() - delivery.event.time.timestamp()
        return deadline_seconds is not None and age_seconds > deadline_seconds

    def _now(self) -> float:
        return self.around.clock()

    def _fields(self, record: Record) -> dict[str, object]:
        return {
            "subscriber": self.job_type.subscriber,
            "messageId": record.message_id,
            "receiveCount": record.receive_count,
        }


def _self_marking(writes: list[Write], delivery: Delivery[Any], result: Result, now: float) -> Put:
    """The effect item, carrying the job that it marks as done."""
    marker = delivery.job_type.marker_key(delivery.event.id)
    if len(writes) != 1 or not isinstance(writes[0], Put) or writes[0].key != marker:
        raise Permanent(f"{delivery.job_type.subscriber} must commit exactly one put, of its marker {marker}")
    job = {"id": delivery.job_id, "result": dict(result), "endedAt": int(now * 1000)}
    return replace(writes[0], item={**writes[0].item, "job": job})
