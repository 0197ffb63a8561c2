"""The watch: close the jobs whose worker never reported, because it crashed or ran out of time or memory.

Nothing is recorded by a process that dies. What is left of such a job is its message, which SQS moves to the
dead-letter queue when it has handed it out too often. The watch reads that queue and leaves every message
where it is: a job that it closes is reopened by a redrive like any other dead job.
"""

import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from . import job_rows
from .deliveries import OPEN_STATES, Delivery, seconds_to_wait
from .errors import ConditionFailed, NeverReported, PostroomError, Unreadable
from .events import Event, read_envelope
from .jobs import JobType
from .records import Record
from .retries import LONGEST_VISIBILITY_SECONDS
from .storage import Store

logger = logging.getLogger("postroom.watch")

HOLD_SECONDS = 120
"""How long what was read stays invisible while the rest is read: longer than the function runs, so that one
reading never meets a message twice."""
LEAST_REMAINING_MS = 10_000
"""With less left of the invocation the watch stops reading, and releases what it holds."""
READ_AGAIN_SECONDS = 900
"""How long a queue of unchanged depth is left alone: reading it again would find the same letters, and hide
them from whoever looks at them meanwhile."""


class DeadLetters(Protocol):
    """One dead-letter queue."""

    def depth(self) -> int:
        """About how many messages can be received."""

    def is_being_moved(self) -> bool:
        """Whether a message move task works on this queue at the moment."""

    def receive(self, *, wait: bool) -> Sequence[Record]:
        """Up to ten messages, held for `HOLD_SECONDS`. `wait` asks all of the queue before it says none."""

    def release(self, records: Sequence[Record]) -> None:
        """Let them be received again at once."""


@dataclass(frozen=True, slots=True)
class Look:
    """A reading that left nothing open: how deep the queue was, and when (epoch seconds)."""

    depth: int
    at: float


@dataclass(frozen=True, slots=True)
class Watch:
    """`clock` gives epoch seconds. `looks` is what earlier runs of this process remember, by subscriber."""

    store: Store
    clock: Callable[[], float]
    looks: dict[str, Look] = field(default_factory=dict)

    def run(
        self, queues: Sequence[tuple[JobType[Any], DeadLetters]], remaining_ms: Callable[[], int]
    ) -> Mapping[str, int]:
        """Read every queue whose depth says that there may be news; returns how many letters were what."""
        counts: Counter[str] = Counter()
        for job_type, queue in queues:
            try:
                counts += self._look_at(job_type, queue, remaining_ms)
            except PostroomError as error:
                logger.warning("watch.not_read", exc_info=error, extra={"subscriber": job_type.subscriber})
        return dict(counts)

    def _look_at(
        self, job_type: JobType[Any], queue: DeadLetters, remaining_ms: Callable[[], int]
    ) -> Counter[str]:
        depth = queue.depth()
        if not depth or self._is_known(job_type.subscriber, depth) or queue.is_being_moved():
            return Counter()
        held: list[Record] = []
        counts: Counter[str] = Counter()
        try:
            while remaining_ms() >= LEAST_REMAINING_MS:
                records = queue.receive(wait=len(held) < depth)
                if not records:
                    self._remember(job_type.subscriber, depth, counts)
                    break
                held += records
                counts.update(self._close(job_type, records))
        finally:
            queue.release(held)
        return counts

    def _is_known(self, subscriber: str, depth: int) -> bool:
        look = self.looks.get(subscriber)
        return look is not None and look.depth == depth and self.clock() - look.at < READ_AGAIN_SECONDS

    def _remember(self, subscriber: str, depth: int, counts: Counter[str]) -> None:
        self.looks.pop(subscriber, None)
        if not counts["left"]:
            self.looks[subscriber] = Look(depth, self.clock())

    def _close(self, job_type: JobType[Any], records: Sequence[Record]) -> list[str]:
        deliveries = [each for record in records if (each := _opened(job_type, record))]
        keys = dict.fromkeys(key for each in deliveries for key in each.status_keys)
        found = self.store.read(keys) if keys else {}
        verdicts = [self._settle(each.informed(found)) for each in deliveries]
        return verdicts + ["unreadable"] * (len(records) - len(deliveries))

    def _settle(self, delivery: Delivery[Any]) -> str:
        """A result is never overruled: not one that is there, nor one that another run may still bring."""
        state = (delivery.row or {}).get("state")
        if delivery.marker is None and state is not None and state not in OPEN_STATES:
            return "settled"
        if delivery.marker is None and self._is_in_hand(delivery):
            return "left"
        try:
            return self._write(delivery)
        except ConditionFailed:
            return "settled"
        except PostroomError as error:
            logger.warning("watch.not_closed", exc_info=error, extra={"job": delivery.job_id})
            return "left"

    def _write(self, delivery: Delivery[Any]) -> str:
        now = self.clock()
        if delivery.marker is not None:
            if "open" in (delivery.row or {}):
                result = delivery.marker.get("job", {}).get("result", {})
                self.store.write(job_rows.completed(delivery, result, now))
            return "settled"
        handed_out = delivery.record.receive_count - 1
        error = NeverReported(
            f"handed out {handed_out} times, and its last run never reported: it crashed, ran out of time or "
            "memory, or was never started"
        )
        self.store.write(job_rows.given_up(delivery, error, now))
        logger.error("job.never_reported", extra={"job": delivery.job_id, "receiveCount": handed_out})
        return "closed"

    def _is_in_hand(self, delivery: Delivery[Any]) -> bool:
        """Whether another message of the same job is still on its way, or a claimed run under way.

        A message that nobody has heard of for longer than any visibility timeout is not on its way any more.
        """
        row, now = delivery.row or {}, self.clock()
        others = row.get("messageId") not in (None, delivery.record.message_id)
        heard_of = now - job_rows.changed_at(row) <= LONGEST_VISIBILITY_SECONDS
        return seconds_to_wait(delivery, now) > 0 or (others and heard_of)


def _opened(job_type: JobType[Any], record: Record) -> Delivery[Any] | None:
    """None for what is no event at all, and so no job: it is for a person to look at."""
    try:
        return Delivery(job_type, record, Event(**dict(read_envelope(record.body))))
    except Unreadable as error:
        fields = {"subscriber": job_type.subscriber, "messageId": record.message_id, "reason": str(error)}
        logger.warning("watch.unreadable", extra=fields)
        return None
