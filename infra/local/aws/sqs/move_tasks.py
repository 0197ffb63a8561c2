"""Message move tasks: how SQS itself redrives what a dead-letter queue holds.

https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_StartMessageMoveTask.html and
https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-configure-dead-letter-queue-redrive.html

A task is driven by the clock alone: whoever looks at a queue first lets the tasks do what was due by then.
"""

import base64
import binascii
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from infra.local.aws.clock import MILLISECONDS
from infra.local.aws.errors import AwsError
from infra.local.aws.region import Region
from infra.local.aws.sqs.message import Message
from infra.local.aws.sqs.queue import Queue

Params = Mapping[str, Any]
Answer = dict[str, Any]

MAX_RATE = 500
MAX_LISTED = 10
ACTIVE = ("RUNNING", "CANCELLING")
_STEPS_A_SECOND = 10
_CANCELLING_MS = 1_000
_NOT_FOUND = 404


@dataclass(slots=True, eq=False)
class MoveTask:
    """One task. `to_move` is the number of messages that were visible when it started: it moves no more."""

    id: str
    source: Queue
    destination_arn: str | None
    rate: int | None
    to_move: int
    started_ms: int
    status: str = "RUNNING"
    moved: int = 0
    cancelled_ms: int = 0
    failure: str | None = None

    @property
    def is_active(self) -> bool:
        return self.status in ACTIVE

    @property
    def next_due_ms(self) -> int:
        """When it next does something. Without a rate it moves as fast as AWS ever does."""
        if self.status == "CANCELLING":
            return self.cancelled_ms + _CANCELLING_MS
        step = max(1, self._rate // _STEPS_A_SECOND)
        return self.started_ms + -(-(self.moved + step) * MILLISECONDS // self._rate)

    def allowance(self, now_ms: int) -> int:
        """How many more messages it may have moved by now."""
        by_rate = (now_ms - self.started_ms) * self._rate // MILLISECONDS
        return min(by_rate, self.to_move) - self.moved

    def shown(self) -> Answer:
        """https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_ListMessageMoveTasksResultEntry.html"""
        known = {
            "TaskHandle": _handle(self) if self.status == "RUNNING" else None,
            "DestinationArn": self.destination_arn,
            "MaxNumberOfMessagesPerSecond": self.rate,
            "FailureReason": self.failure,
        }
        return {
            "Status": self.status,
            "SourceArn": self.source.arn,
            "ApproximateNumberOfMessagesMoved": self.moved,
            "ApproximateNumberOfMessagesToMove": self.to_move,
            "StartedTimestamp": self.started_ms,
            **{name: value for name, value in known.items() if value is not None},
        }

    @property
    def _rate(self) -> int:
        return self.rate or MAX_RATE


class MoveTasks:
    """All move tasks of the account, oldest first."""

    def __init__(self, region: Region, queues: Mapping[str, Queue]) -> None:
        self._region = region
        self._queues = queues
        self._tasks: list[MoveTask] = []
        region.background.append(self)

    def start(self, params: Params) -> Answer:
        source = self._named(params, "SourceArn")
        destination = params.get("DestinationArn")
        if destination is not None:
            _check_types(source, self._named(params, "DestinationArn"))
        rate = _bounded(params, "MaxNumberOfMessagesPerSecond", MAX_RATE)
        if not self._is_dead_letter_queue(source):
            raise _invalid("Source queue must be configured as a Dead Letter Queue.")
        self._region.catch_up()
        if any(task.is_active for task in self._of(source)):
            raise _invalid(
                "There is already a task running. Only one active task is allowed for a source queue arn at "
                "a given time."
            )
        to_move, now = source.counts()[0], self._region.now_ms()
        task = MoveTask(self._region.new_id(), source, destination, rate, to_move, now)
        self._tasks.append(task)
        self._region.changed.notify_all()
        return {"TaskHandle": _handle(task)}

    def list(self, params: Params) -> Answer:
        """The most recent tasks of a queue, latest first."""
        source = self._named(params, "SourceArn")
        limit = _bounded(params, "MaxResults", MAX_LISTED) or 1
        self._region.catch_up()
        latest = list(self._of(source))[::-1][:limit]
        return {"Results": [task.shown() for task in latest]}

    def cancel(self, params: Params) -> Answer:
        """What has been moved stays moved.

        https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_CancelMessageMoveTask.html
        """
        task_id, source = _read_handle(params["TaskHandle"])
        queue = self._named({"SourceArn": source}, "SourceArn")
        self._region.catch_up()
        task = next((task for task in self._of(queue) if task.id == task_id), None)
        if task is None:
            raise AwsError("ResourceNotFoundException", "Task does not exist.", _NOT_FOUND)
        if task.status != "RUNNING":
            raise _invalid(f"Only a running task can be cancelled; this one is {task.status}.")
        task.status, task.cancelled_ms = "CANCELLING", self._region.now_ms()
        self._region.changed.notify_all()
        return {"ApproximateNumberOfMessagesMoved": task.moved}

    def next_due_ms(self) -> int | None:
        """When any task next does something; epoch milliseconds, in the past when nobody has looked since."""
        return min((task.next_due_ms for task in self._tasks if task.is_active), default=None)

    def catch_up(self) -> None:
        """Let every task do what was due by now."""
        now = self._region.now_ms()
        for task in self._tasks:
            while task.is_active and task.next_due_ms <= now:
                self._advance(task, now)

    def _advance(self, task: MoveTask, now_ms: int) -> None:
        if task.status == "CANCELLING":
            task.status = "CANCELLED"
            return
        for _ in range(task.allowance(now_ms)):
            message = task.source.oldest_claimable()
            if message is None:
                break
            task.failure = self._move(task, message)
            if task.failure is not None:
                task.status = "FAILED"
                return
        if task.moved >= task.to_move or task.source.oldest_claimable() is None:
            task.status = "COMPLETED"

    def _move(self, task: MoveTask, message: Message) -> str | None:
        """Move one message, or say why that cannot be done.

        https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/troubleshooting-dlq-redrive.html
        """
        target_arn = task.destination_arn or message.source_arn
        if target_arn is None:
            return "CouldNotDetermineMessageSource"
        target = self._queues.get(_name(target_arn))
        if target is None:
            return "AWS.SimpleQueueService.NonExistentQueue"
        task.source.withdraw(message)
        target.send(self._anew(message))
        task.moved += 1
        return None

    def _anew(self, message: Message) -> Message:
        """A redriven message is a new one: another id, sent now, never received; what it says is the same."""
        return Message(
            self._region.new_id(),
            message.body,
            self._region.now_ms(),
            message.sender,
            dict(message.attributes),
            dict(message.system),
            group=message.group,
            deduplication_id=message.deduplication_id,
        )

    def _of(self, source: Queue) -> Iterator[MoveTask]:
        return (task for task in self._tasks if task.source is source)

    def _named(self, params: Params, parameter: str) -> Queue:
        found = self._queues.get(_name(params[parameter]))
        if found is None or found.arn != params[parameter]:
            reason = f"The resource that you specified for the {parameter} parameter doesn't exist."
            raise AwsError("ResourceNotFoundException", reason, _NOT_FOUND)
        return found

    def _is_dead_letter_queue(self, queue: Queue) -> bool:
        redrives = (other.settings.redrive for other in self._queues.values())
        return any(redrive is not None and redrive.target_arn == queue.arn for redrive in redrives)


def _check_types(source: Queue, destination: Queue) -> None:
    if source.settings.is_fifo != destination.settings.is_fifo:
        raise _invalid("The source and the destination queue must be of the same type.")


def _bounded(params: Params, name: str, most: int) -> int | None:
    value: int | None = params.get(name)
    if value is not None and not 1 <= value <= most:
        raise _invalid(
            f"Value for parameter {name} is invalid. Reason: You must enter a number that's between 1 and "
            f"{most}."
        )
    return value


def _handle(task: MoveTask) -> str:
    told = json.dumps({"taskId": task.id, "sourceArn": task.source.arn})
    return base64.b64encode(told.encode()).decode()


def _read_handle(handle: str) -> tuple[str, str]:
    try:
        told = json.loads(base64.b64decode(handle, validate=True))
        return str(told["taskId"]), str(told["sourceArn"])
    except (ValueError, binascii.Error, KeyError, TypeError) as error:
        raise _invalid("Value for parameter TaskHandle is invalid.") from error


def _invalid(reason: str) -> AwsError:
    return AwsError("InvalidParameterValue", reason)


def _name(arn: str) -> str:
    return arn.split(":")[-1]
