"""Some dead letters, redriven one by one: sent anew first, deleted only once the send is confirmed."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from handlers.postroom.storage import Item
from infra.ops.core.causes import DeadJob, diagnose
from infra.ops.core.letters import HOLD_SECONDS, Letter, held
from infra.ops.core.move_tasks import Report, refuse_while_moving
from infra.ops.core.queues import DeadLetterQueue, Queue
from infra.ops.core.target import Target

OUTCOME_LOOK_SECONDS = 0.5


@dataclass(frozen=True)
class Filter:
    """Which letters. An empty one means all: `job` is a job's or an event's id, `error` part of a cause."""

    job: str = ""
    error: str = ""

    @property
    def is_all(self) -> bool:
        return not (self.job or self.error)

    def takes(self, dead: DeadJob) -> bool:
        return self._is_named(dead) and self.error.lower() in f"{dead.cause.error} {dead.message}".lower()

    def _is_named(self, dead: DeadJob) -> bool:
        event_id = dead.letter.event.id if dead.letter.event else None
        return not self.job or self.job in (dead.id, event_id)


@dataclass
class Resent:
    """What came of it. `failed` letters are still in the dead-letter queue, `doubled` are in both queues.

    A letter in both does no harm: its job is done once.
    """

    sent: list[DeadJob] = field(default_factory=list)
    failed: list[tuple[DeadJob, str]] = field(default_factory=list)
    doubled: list[DeadJob] = field(default_factory=list)


def chosen(target: Target, pair: DeadLetterQueue, which: Filter) -> list[DeadJob]:
    """The letters that a filter takes; all are left where they are. Raises `Refused` during a move task."""
    refuse_while_moving(target, pair)
    with held(target.client("sqs"), pair.dead.url) as letters:
        return taken(target, pair, letters, which)


def resend(
    target: Target,
    pair: DeadLetterQueue,
    which: Filter,
    report: Report,
    *,
    limit: int | None = None,
    rate: int | None = None,
    to: Queue | None = None,
) -> Resent:
    """Redrive the letters that a filter takes, at most `rate` a second. Raises `Refused` like `chosen`."""
    refuse_while_moving(target, pair)
    seconds = HOLD_SECONDS + (pair.dead.depth // rate if rate else 0)
    with held(target.client("sqs"), pair.dead.url, seconds) as letters:
        jobs = taken(target, pair, letters, which)[:limit]
        return _resend_all(_Way(target, pair, (to or pair.source).url), jobs, rate, report)


def outcomes(target: Target, before: Sequence[DeadJob], seconds: float, report: Report) -> dict[str, str]:
    """Wait until the redriven jobs have ended, or for so many seconds; the state of each by job id."""
    end = target.clock() + seconds
    while True:
        states = _states(target, before)
        ended = sum(state != "pending" for state in states.values())
        report(ended, len(states))
        if ended == len(states) or target.clock() >= end:
            return states
        target.sleep(OUTCOME_LOOK_SECONDS)


def taken(target: Target, pair: DeadLetterQueue, letters: Sequence[Letter], which: Filter) -> list[DeadJob]:
    """Of these letters, those that a filter takes, oldest first."""
    jobs = diagnose(target, target.job_type(pair.subscriber), letters)
    return sorted((job for job in jobs if which.takes(job)), key=lambda job: job.letter.record.sent_at)


@dataclass(frozen=True)
class _Way:
    """From a dead-letter queue to the queue at `to_url`."""

    target: Target
    pair: DeadLetterQueue
    to_url: str


def _resend_all(way: _Way, jobs: Sequence[DeadJob], rate: int | None, report: Report) -> Resent:
    resent = Resent()
    for number, job in enumerate(jobs):
        if number and rate:
            way.target.sleep(1 / rate)
        _resend_one(way, job, resent)
        report(number + 1, len(jobs))
    return resent


def _resend_one(way: _Way, job: DeadJob, resent: Resent) -> None:
    sqs = way.target.client("sqs")
    try:
        sqs.send_message(QueueUrl=way.to_url, **copy_of(job.letter))
    except (ClientError, BotoCoreError) as error:
        resent.failed.append((job, str(error)))
        return
    resent.sent.append(job)
    try:
        sqs.delete_message(QueueUrl=way.pair.dead.url, ReceiptHandle=job.letter.handle)
    except (ClientError, BotoCoreError):
        resent.doubled.append(job)


def copy_of(letter: Letter) -> dict[str, Any]:
    """A `SendMessage` request that says all that the letter says: body, attributes, trace, group.

    https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessage.html
    """
    request: dict[str, Any] = {"MessageBody": letter.message["Body"]}
    if "MessageAttributes" in letter.message:
        request["MessageAttributes"] = letter.message["MessageAttributes"]
    if trace := letter.attributes.get("AWSTraceHeader"):
        value = {"DataType": "String", "StringValue": trace}
        request["MessageSystemAttributes"] = {"AWSTraceHeader": value}
    if group := letter.attributes.get("MessageGroupId"):
        request["MessageGroupId"] = group
    if "MessageDeduplicationId" in letter.attributes:
        # the old one would make SQS swallow the copy when it is sent within five minutes
        request["MessageDeduplicationId"] = uuid.uuid4().hex
    return request


def _states(target: Target, before: Sequence[DeadJob]) -> dict[str, str]:
    if not before:
        return {}
    now = diagnose(target, before[0].job_type, [job.letter for job in before])
    return {job.id: _verdict(old, job) for old, job in zip(before, now, strict=True) if job.id is not None}


def _verdict(before: DeadJob, now: DeadJob) -> str:
    """`pending` while nothing says that the redriven message has come to its end."""
    if now.state == "dead":
        return "dead" if _life(now.row) != _life(before.row) else "pending"
    return now.state if now.state in ("completed", "cancelled", "expired") else "pending"


def _life(row: Item) -> tuple[Any, Any]:
    return row.get("generation"), row.get("endedAt")
