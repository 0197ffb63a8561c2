"""Whole dead-letter queues, redriven by SQS itself.

https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-configure-dead-letter-queue-redrive.html
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError

from infra.ops.core.errors import Refused
from infra.ops.core.queues import DeadLetterQueue, Queue
from infra.ops.core.target import Target

ACTIVE = frozenset({"RUNNING", "CANCELLING"})
LOOK_SECONDS = 0.5
RATES = (1, 500)
"""Messages a second that AWS accepts as a limit."""

Report = Callable[[int, int], None]
"""Told how many of how many messages are done."""


@dataclass(frozen=True)
class MoveTask:
    """A task as SQS lists it. `started_at` is epoch seconds."""

    status: str
    moved: int
    to_move: int
    started_at: float
    failure: str | None = None

    @classmethod
    def of(cls, entry: Mapping[str, Any]) -> "MoveTask":
        return cls(
            entry["Status"],
            entry.get("ApproximateNumberOfMessagesMoved", 0),
            entry.get("ApproximateNumberOfMessagesToMove", 0),
            entry.get("StartedTimestamp", 0) / 1000,
            entry.get("FailureReason"),
        )

    @property
    def is_active(self) -> bool:
        return self.status in ACTIVE


def latest(target: Target, dead: Queue) -> MoveTask | None:
    """The queue's most recent task."""
    answer = target.client("sqs").list_message_move_tasks(SourceArn=dead.arn, MaxResults=1)
    return next((MoveTask.of(entry) for entry in answer.get("Results", ())), None)


def refuse_while_moving(target: Target, pair: DeadLetterQueue) -> None:
    """Raises `Refused`, saying how far the task is, while one works on the queue: RUNNING or CANCELLING."""
    task = latest(target, pair.dead)
    if task is not None and task.is_active:
        raise Refused(
            f"a redrive of {pair.subscriber} is {task.status}: {task.moved} of {task.to_move} messages are "
            "moved. A queue has one at a time; wait for its end, or stop it with "
            f"`postroom dlq stop {pair.subscriber}`"
        )


def start(target: Target, pair: DeadLetterQueue, rate: int | None, to: Queue | None = None) -> None:
    """Start a task, to every message's own source unless told where. Raises `Refused`."""
    refuse_while_moving(target, pair)
    more: dict[str, Any] = {} if rate is None else {"MaxNumberOfMessagesPerSecond": rate}
    if to is not None:
        more["DestinationArn"] = to.arn
    try:
        target.client("sqs").start_message_move_task(SourceArn=pair.dead.arn, **more)
    except ClientError as error:
        # somebody else may have been quicker
        refuse_while_moving(target, pair)
        raise Refused(f"SQS does not start it: {error.response['Error'].get('Message', error)}") from error


def follow(target: Target, pair: DeadLetterQueue, report: Report) -> MoveTask:
    """Wait for the latest task's end. Raises `Refused` with the reason when it failed."""
    while (task := latest(target, pair.dead)) is not None and task.is_active:
        report(task.moved, task.to_move)
        target.sleep(LOOK_SECONDS)
    if task is None:
        raise Refused(f"there is no redrive of {pair.subscriber}")
    report(task.moved, task.to_move)
    if task.status == "FAILED":
        raise Refused(_why_failed(pair, task))
    return task


def stop(target: Target, pair: DeadLetterQueue) -> int:
    """Cancel the running task; returns how many messages it had moved, which stay moved. Raises `Refused`."""
    answer = target.client("sqs").list_message_move_tasks(SourceArn=pair.dead.arn, MaxResults=1)
    entry: Mapping[str, Any] = next(iter(answer.get("Results", ())), {})
    if "TaskHandle" not in entry:
        raise Refused(f"no redrive of {pair.subscriber} is running")
    cancelled = target.client("sqs").cancel_message_move_task(TaskHandle=entry["TaskHandle"])
    return int(cancelled["ApproximateNumberOfMessagesMoved"])


def _why_failed(pair: DeadLetterQueue, task: MoveTask) -> str:
    """docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/troubleshooting-dlq-redrive.html"""
    told = f"the redrive of {pair.subscriber} failed after {task.moved} of {task.to_move}: {task.failure}"
    if task.failure == "CouldNotDetermineMessageSource":
        return (
            f"{told}. A message was sent to the dead-letter queue directly, so SQS does not know where it "
            f"belongs. If it belongs to {pair.subscriber}, redrive with `--to {pair.subscriber}`"
        )
    return told
