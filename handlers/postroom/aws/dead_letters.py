"""A subscriber's dead-letter queue over SQS, as the watch reads it."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from ..errors import Transient
from ..queue_names import dead_letter_queue
from ..records import Record
from ..watch import HOLD_SECONDS
from .deployment import Deployment
from .queue import SqsQueue, Visibility
from .sdk_errors import no_success

WAIT_SECONDS = 1
"""Long polling asks every server of the queue, short polling some of them. Below the client's read timeout.
docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-short-and-long-polling.html"""
_AT_WORK = frozenset({"RUNNING", "CANCELLING"})
"""docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_ListMessageMoveTasksResultEntry.html"""


class SqsDeadLetters:
    """Found by its name, whose beginning the environment tells (`QUEUE_PREFIX`). Raises `Transient`.

    A FIFO queue hands out what follows in a group only when what it has handed out of it is back or gone, so
    of each group one reading sees the letters at its front. Those behind have to wait for them anyway.
    docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/FIFO-queues-understanding-logic.html
    """

    def __init__(self, deployment: Deployment, subscriber: str, *, ordered: bool = False) -> None:
        self._deployment = deployment
        self._name = dead_letter_queue(deployment.setting("QUEUE_PREFIX"), subscriber, ordered=ordered)
        self._arn = ""

    def depth(self) -> int:
        names = ["ApproximateNumberOfMessages", "QueueArn"]
        answer = self._call("get_queue_attributes", QueueUrl=self._url, AttributeNames=names)
        self._arn = answer["Attributes"]["QueueArn"]
        return int(answer["Attributes"]["ApproximateNumberOfMessages"])

    def is_being_moved(self) -> bool:
        """The latest task comes first; a queue has at most one at work."""
        answer = self._call("list_message_move_tasks", SourceArn=self._arn, MaxResults=1)
        return any(task["Status"] in _AT_WORK for task in answer.get("Results", ()))

    def receive(self, *, wait: bool) -> Sequence[Record]:
        answer = self._call(
            "receive_message",
            QueueUrl=self._url,
            MaxNumberOfMessages=10,
            VisibilityTimeout=HOLD_SECONDS,
            WaitTimeSeconds=WAIT_SECONDS if wait else 0,
            MessageSystemAttributeNames=["ApproximateReceiveCount", "SentTimestamp"],
            MessageAttributeNames=["All"],
        )
        return [Record.from_receive(raw) for raw in answer.get("Messages", ())]

    def release(self, records: Sequence[Record]) -> None:
        queue = SqsQueue(self._deployment, self._url)
        queue.change_visibility([Visibility(record.receipt_handle, 0) for record in records])

    @cached_property
    def _url(self) -> str:
        return str(self._call("get_queue_url", QueueName=self._name)["QueueUrl"])

    def _call(self, operation: str, **request: Any) -> Any:
        try:
            return getattr(self._deployment.client("sqs"), operation)(**request)
        except no_success() as error:
            raise Transient(f"the dead-letter queue {self._name} cannot be read: {error}") from error
