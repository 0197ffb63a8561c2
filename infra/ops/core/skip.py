"""Dead letters acknowledged for good: the job stays dead, with a note that says who let it rest and why.

In a line the events after it go on without it, so its letter goes only once its turn is passed over.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from handlers.postroom import lines
from handlers.postroom.aws.queue import SqsQueue
from handlers.postroom.errors import ConditionFailed, Transient
from handlers.postroom.job_rows import skipped
from handlers.postroom.records import Record
from handlers.postroom.watch import Watch
from infra.ops.core.causes import DeadJob
from infra.ops.core.letters import held
from infra.ops.core.move_tasks import Report, refuse_while_moving
from infra.ops.core.queues import DeadLetterQueue
from infra.ops.core.redrive import Filter, taken
from infra.ops.core.target import Target

_PLENTY_MS = 60_000


@dataclass
class Skipped:
    """What came of it. A letter is left when its job may still come to a result."""

    done: list[DeadJob] = field(default_factory=list)
    left: list[DeadJob] = field(default_factory=list)


@dataclass(frozen=True)
class _OneLetter:
    """A dead-letter queue as the watch sees it, with one message in it."""

    record: Record
    read: list[Record] = field(default_factory=list)

    def depth(self) -> int:
        return 1

    def is_being_moved(self) -> bool:
        return False

    def receive(self, *, wait: bool) -> Sequence[Record]:  # noqa: ARG002 - there is nothing to wait for
        if self.read:
            return []
        self.read.append(self.record)
        return [self.record]

    def release(self, records: Sequence[Record]) -> None:
        """The letter is held by whoever skips it."""


def skip(target: Target, pair: DeadLetterQueue, which: Filter, text: str, report: Report) -> Skipped:
    """Note it on each job, then delete its letter. Raises `Refused` during a move task."""
    refuse_while_moving(target, pair)
    came = Skipped()
    sqs = target.client("sqs")
    with held(sqs, pair.dead.url) as letters:
        jobs = taken(target, pair, letters, which)
        for number, job in enumerate(jobs):
            if _is_at_rest(target, job, text) and _is_passed_over(target, pair, job):
                sqs.delete_message(QueueUrl=pair.dead.url, ReceiptHandle=job.letter.handle)
                came.done.append(job)
            else:
                came.left.append(job)
            report(number + 1, len(jobs))
    return came


def _is_at_rest(target: Target, job: DeadJob, text: str) -> bool:
    """Whether the job has ended, a dead one with the note on its row. What was still open is closed first."""
    if job.letter.event is None or job.state in ("completed", "cancelled", "expired"):
        return True
    if job.state != "dead":
        _close(target, job)
    key = job.job_type.row_key(job.letter.event.id)
    try:
        target.store.write(skipped(key, target.by, text, target.clock()))
    except ConditionFailed as refused:
        state = (refused.old or {}).get("state")
        return state in ("completed", "cancelled", "expired")
    return True


def _is_passed_over(target: Target, pair: DeadLetterQueue, job: DeadJob) -> bool:
    """Whether nothing waits for it: what is parked behind a dead event of a line is sent on its way."""
    event = job.letter.event
    if event is None or not job.job_type.is_ordered or job.state in ("completed", "expired"):
        return True
    line = lines.Line(pair.subscriber, event.aggregate)
    queue = SqsQueue(target.deployment, pair.source.url)
    try:
        lines.pass_over(line, event.sequence, target.store, queue)
    except ConditionFailed as refused:
        return int((refused.old or {}).get("sequence", 0)) > event.sequence
    except Transient:
        return False
    return True


def _close(target: Target, job: DeadJob) -> None:
    queues: list[tuple[Any, Any]] = [(job.job_type, _OneLetter(job.letter.record))]
    Watch(target.store, target.clock).run(queues, lambda: _PLENTY_MS)
