"""One delivery, from what its row says to its outcome."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Generic

from . import job_rows, later, lines, traces
from .deliveries import Delivery, is_cut_off, is_redrive, seconds_to_wait, settled
from .errors import AlreadyDone, CancelledBecause, ConditionFailed, Permanent, Withdrawn
from .events import D
from .group_commit import GroupCommit, Prepared, Refusal, Verdict
from .jobs import EPOCH, Call, CallJob, Commit, CommitJob, InDoubt, Result
from .records import (
    CANCELLED,
    COMPLETED,
    DEAD,
    DUPLICATE,
    EXPIRED,
    GIVEN_BACK,
    PARKED,
    PUT_OFF,
    Outcome,
    Record,
)
from .redaction import trace
from .retries import LONGEST_VISIBILITY_SECONDS, is_permanent, may_have_acted, retry_after_seconds
from .storage import Delete, Item, Put, Store, Update, Write

logger = logging.getLogger("postroom.consumer")

LEASE_MARGIN_SECONDS = 1.0
"""How long a claim outlives the deadline of the invocation that made it."""


class CutOff(Permanent):
    """A claimed call ended without a clear word, and its author chose not to risk a second one."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a consumer needs from outside. `clock` gives epoch seconds, `chance` is uniform in [0, 1)."""

    store: Store
    clock: Callable[[], float]
    chance: Callable[[], float]
    sleep: Callable[[float], None]
    line_queue: lines.LineQueue | None = None
    """Where an ordered subscriber's parked events are sent when their turn has come."""

    def pause(self, longest_seconds: float) -> None:
        self.sleep(self.chance() * longest_seconds)


@dataclass(frozen=True, slots=True)
class Settlement(Generic[D]):
    """Settles the deliveries of one invocation, each on its own or as prepared for a common commit."""

    job_type: CommitJob[D] | CallJob[D, Any]
    around: Surroundings
    perform: Callable[[Call[Any]], Result]
    remaining_ms: Callable[[], int]

    def settle(self, delivery: Delivery[D]) -> Outcome:
        try:
            ready = self._ready(self._refreshed(delivery))
        except Exception as error:  # noqa: BLE001 - whatever it is, the record comes back
            return self.unrecorded(delivery, error)
        if isinstance(ready, Outcome):
            return ready
        prepared = self.prepare(ready)
        if isinstance(prepared, Outcome):
            return prepared
        return self.conclude(prepared, self._commit_alone(prepared))

    def prepare(self, delivery: Delivery[D]) -> Prepared | Outcome:
        """Run the author's function, down to the writes that are left to make; its failure is an outcome."""
        try:
            return self._writes(delivery, self._run(delivery))
        except Withdrawn as reason:
            return self._withdrawn(delivery, reason)
        except Exception as error:  # noqa: BLE001 - the author's function or the provider may raise anything
            return self.fail(delivery, error)

    def conclude(self, prepared: Prepared, verdict: Verdict) -> Outcome:
        """The outcome of a job whose writes were tried."""
        delivery: Delivery[D] = prepared.delivery
        if verdict is None:
            return self._with_successor(delivery, COMPLETED)
        if isinstance(verdict, Exception):
            # a provider that has said yes must not end in a dead job because we could not write it down
            called = isinstance(self.job_type, CallJob)
            return self.unrecorded(delivery, verdict) if called else self.fail(delivery, verdict)
        if verdict.write.key == delivery.row_key:
            return self.settle(delivery.with_row(verdict.reason.old))
        if verdict.write.key == self.job_type.marker_key(delivery.event.id):
            return self._done_before(prepared)
        if self.is_ordered and verdict.write.key == lines.line_of(delivery).cursor:
            return self._out_of_turn(delivery, verdict.reason.old)
        refused = verdict.write.refused or Permanent(f"the condition of a write to {verdict.write.key} fails")
        return (
            self._done_before(prepared) if isinstance(refused, AlreadyDone) else self.fail(delivery, refused)
        )

    def fail(self, delivery: Delivery[D], error: Exception) -> Outcome:
        """Record a failed run; the job is retried after its backoff, or dead."""
        dead = is_permanent(error) or delivery.attempt >= self.job_type.retry.attempts
        fields = {**self.fields(delivery.record), "job": delivery.job_id, "attempt": delivery.attempt}
        logger.warning("job.attempt_failed", extra={**fields, "trace": trace(error)})
        try:
            self.around.store.write(job_rows.failed(delivery, error, dead=dead, now=self._now()))
        except ConditionFailed as refused:
            return self.settle(delivery.with_row(refused.old))
        except Exception as unwritable:  # noqa: BLE001 - an unrecorded failure is taken for a crash next time
            return self.unrecorded(delivery, unwritable)
        outcome = DEAD if dead else self._come_back(delivery, error)
        return replace(outcome, run_failed=True)

    def unrecorded(self, delivery: Delivery[D], error: Exception) -> Outcome:
        """Nothing could be written about this run: the record comes back, the job's row stays as it is."""
        fields = {**self.fields(delivery.record), "trace": trace(error)}
        logger.error("job.unrecorded", extra=fields)
        return Outcome("retrying", self._backoff_seconds(delivery, error), run_failed=True)

    def give_back(self, delivery: Delivery[D], outcome: Outcome = GIVEN_BACK) -> Outcome:
        """Return a record that has not run, and say so in its row: it has spent no attempt."""
        try:
            self.around.store.write(job_rows.given_back(delivery, self._now()))
        except Exception as error:
            logger.warning("job.give_back_unrecorded", exc_info=error, extra=self.fields(delivery.record))
        return outcome

    @property
    def is_ordered(self) -> bool:
        return self.job_type.is_ordered

    def park(self, delivery: Delivery[D]) -> Outcome:
        """Keep an event until its turn, unless that has come or the job has an outcome already."""
        decided = settled(delivery)
        if decided:
            return decided
        try:
            return PARKED if lines.park(delivery, self.around.store, self._now()) else self.settle(delivery)
        except Exception as error:  # noqa: BLE001 - not kept, so it must come back by itself
            return self.unrecorded(delivery, error)

    def is_late(self, delivery: Delivery[D]) -> bool:
        deadline_seconds = self.job_type.retry.deadline_seconds
        age_seconds = self._now() - delivery.event.time.timestamp()
        return deadline_seconds is not None and age_seconds > deadline_seconds

    def fields(self, record: Record) -> dict[str, object]:
        """What every log line about a record tells."""
        return {
            "subscriber": self.job_type.subscriber,
            "messageId": record.message_id,
            "receiveCount": record.receive_count,
            "traceId": traces.id_of(record.body),
        }

    def _come_back(self, delivery: Delivery[D], error: Exception) -> Outcome:
        """When the next run is: a message waits in its queue, but not for hours, where the job type says so.

        Whatever keeps the table from taking it over, the message is still there to wait itself.
        """
        wait_seconds = self.job_type.retry.wait_seconds(
            delivery.attempt, self.around.chance(), retry_after_seconds(error)
        )
        waiting = Outcome("retrying", min(LONGEST_VISIBILITY_SECONDS, wait_seconds))
        if not self.job_type.waits_in_table or wait_seconds <= later.LONGEST_IN_QUEUE_SECONDS:
            return waiting
        try:
            self.around.store.write(
                later.put_off(self.job_type.on, delivery.event, self._now() + wait_seconds)
            )
        except Exception as refused:
            logger.warning("job.not_put_off", exc_info=refused, extra=self.fields(delivery.record))
            return waiting
        return PUT_OFF

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
                delivery = self._reopen(delivery)
            return self._unrunnable(delivery) or self._counted(delivery)
        except ConditionFailed as refused:
            return self._overtaken(delivery.with_row(refused.old))

    def _overtaken(self, delivery: Delivery[D]) -> Outcome:
        """Another delivery of the same job was quicker: what it wrote decides."""
        wait_seconds = seconds_to_wait(delivery, self._now())
        return settled(delivery) or Outcome("waiting", max(1, wait_seconds))

    def _out_of_turn(self, delivery: Delivery[D], cursor: Item | None) -> Outcome:
        if lines.is_early(delivery, cursor):
            return self.park(delivery)
        return self.fail(delivery, lines.Passed("those after it have been taken: its turn was passed over"))

    def _with_successor(self, delivery: Delivery[D], outcome: Outcome) -> Outcome:
        """Done, and the parked event after it, if there is one, is on its way again.

        Until that is so the record is not acknowledged: its next delivery finds the job done and tries again.
        """
        queue = self.around.line_queue
        if self.is_ordered and queue is not None:
            line, sequence = lines.line_of(delivery), delivery.event.sequence
            try:
                lines.release_next(line, sequence, self.around.store, queue)
            except Exception as error:  # noqa: BLE001 - the job is done; what waits behind it must not be lost
                return self.unrecorded(delivery, error)
        return outcome

    def _already(self, delivery: Delivery[D], decided: Outcome) -> Outcome:
        if decided is DUPLICATE:
            decided = self._with_successor(delivery, decided)
        row_is_open = delivery.row is not None and "open" in delivery.row
        if delivery.marker is not None and row_is_open:
            result = delivery.marker.get("job", {}).get("result", {})
            self.around.store.write(job_rows.completed(delivery, result, self._now()))
        return decided

    def _reopen(self, delivery: Delivery[D]) -> Delivery[D]:
        return delivery.with_row(self.around.store.change(job_rows.reopened(delivery, self._now())))

    def _unrunnable(self, delivery: Delivery[D]) -> Outcome | None:
        """Claimed by a run that may still be under way or may have acted, cancelled, or too late."""
        wait_seconds = seconds_to_wait(delivery, self._now())
        if wait_seconds:
            return self.give_back(delivery, Outcome("waiting", wait_seconds))
        if self._claim is InDoubt.DEAD and is_cut_off(delivery):
            return self.fail(delivery, CutOff("an earlier call was cut off: the provider may have acted"))
        if delivery.row is not None and "cancelling" in delivery.row:
            self.around.store.write(job_rows.called_off(delivery, self._now()))
            return CANCELLED
        if self.is_late(delivery):
            self.around.store.write(job_rows.expired(delivery, self._now()))
            return EXPIRED
        return None

    @property
    def _claim(self) -> InDoubt | None:
        return self.job_type.claim if isinstance(self.job_type, CallJob) else None

    def _counted(self, delivery: Delivery[D]) -> Delivery[D]:
        """The delivery with its run counted beforehand, where the run may leave no trace of its own."""
        if self._claim:
            lease_until = self._now() + self.remaining_ms() / 1000 + LEASE_MARGIN_SECONDS
            row = self._claimed(job_rows.claimed(delivery, lease_until, self._now()))
        elif delivery.crashed_before:
            row = self.around.store.change(job_rows.starting(delivery, self._now()))
        else:
            return delivery
        return delivery.with_row(row, counted=True)

    def _claimed(self, claim: Update) -> Item:
        try:
            return self.around.store.change(claim)
        except ConditionFailed as refused:
            held = refused.old or {}
            if all(held.get(name) == value for name, value in claim.set.items()):
                # our own claim: the SDK sent it again after the answer to the first had got lost
                return held
            raise

    def _run(self, delivery: Delivery[D]) -> Commit:
        if delivery.fault:
            raise delivery.fault
        effect = self.job_type.run(replace(delivery.job(), remaining_ms=self.remaining_ms))
        if isinstance(effect, Call):
            result = self._perform(effect)
            return Commit(effect.writes(result, EPOCH + timedelta(seconds=self._now())), result)
        return effect

    def _withdrawn(self, delivery: Delivery[D], reason: Withdrawn) -> Outcome:
        try:
            self.around.store.write(job_rows.withdrawn(delivery, reason, self._now()))
        except ConditionFailed as refused:
            return self.settle(delivery.with_row(refused.old))
        except Exception as error:  # noqa: BLE001 - not written down, so it comes back and is withdrawn then
            return self.unrecorded(delivery, error)
        return CANCELLED

    def _perform(self, call: Call[Any]) -> Result:
        try:
            return self.perform(call)
        except Exception as error:
            if self._claim is InDoubt.DEAD and may_have_acted(error):
                raise CutOff(
                    f"the call ended with {type(error).__name__}: the provider may have acted"
                ) from error
            raise

    def _writes(self, delivery: Delivery[D], commit: Commit) -> Prepared:
        marker = self.job_type.marker_key(delivery.event.id)
        writes: list[Write] = list(commit.writes)
        if marker:
            writes = [_self_marking(writes, delivery, commit.result, self._now())]
        if not marker or delivery.row is not None:
            runs = delivery.uncounted_attempts
            writes = [job_rows.completed(delivery, commit.result, self._now(), runs=runs), *writes]
        if self.is_ordered:
            writes += _in_line(delivery)
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

    def _done_before(self, prepared: Prepared) -> Outcome:
        """The effect is there already; what may be missing is its record."""
        completes_row = prepared.writes[0].key == prepared.delivery.row_key
        try:
            if completes_row:
                self.around.store.write(prepared.writes[0])
        except ConditionFailed:
            return DUPLICATE
        except Exception as error:  # noqa: BLE001 - the effect stands; only its record is still missing
            return self.unrecorded(prepared.delivery, error)
        return DUPLICATE

    def _backoff_seconds(self, delivery: Delivery[D], error: Exception) -> int:
        return self.job_type.retry.visibility_seconds(
            delivery.attempt, self.around.chance(), retry_after_seconds(error)
        )

    def _now(self) -> float:
        return self.around.clock()


def _self_marking(writes: list[Write], delivery: Delivery[Any], result: Result, now: float) -> Put:
    """The effect item, carrying the job that it marks as done."""
    marker = delivery.job_type.marker_key(delivery.event.id)
    if len(writes) != 1 or not isinstance(writes[0], Put) or writes[0].key != marker:
        raise Permanent(f"{delivery.job_type.subscriber} must commit exactly one put, of its marker {marker}")
    job = {
        "id": delivery.job_id,
        "owner": delivery.event.owner,
        "result": dict(result),
        "endedAt": int(now * 1000),
    }
    return replace(writes[0], item={**writes[0].item, "job": job})


def _in_line(delivery: Delivery[Any]) -> list[Write]:
    """Take the event's turn, and clear the place where it waited."""
    line, sequence = lines.line_of(delivery), delivery.event.sequence
    was_parked = delivery.row is not None and "place" in delivery.row
    return [line.advance(sequence), *([Delete(line.place(sequence))] if was_parked else [])]
