"""A FIFO queue: order within each message group, and deduplication of what is sent.

https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-fifo-queues.html
"""

import dataclasses
from collections.abc import Callable

from infra.local.aws.deduplication import Recent
from infra.local.aws.errors import AwsError
from infra.local.aws.region import Region
from infra.local.aws.sqs.groups import GroupLine
from infra.local.aws.sqs.message import Message
from infra.local.aws.sqs.queue import Queue
from infra.local.aws.sqs.settings import Settings

_FIRST_SEQUENCE_NUMBER = 18_850_000_000_000_000_000
_SEQUENCE_STEP = 256


class FifoQueue(Queue):
    """The messages of one FIFO queue. AWS's freedoms to reorder and to duplicate are not taken here."""

    def __init__(self, region: Region, name: str, settings: Settings, find: Callable[[str], Queue]) -> None:
        self._groups = GroupLine()
        super().__init__(region, name, settings, find, self._groups)
        self._recent: Recent[Message] = Recent()
        self._sequence_number = _FIRST_SEQUENCE_NUMBER

    def accept(self, message: Message, delay_seconds: int | None = None) -> Message:
        """A message with the deduplication id of an earlier one is accepted, but that one stands for it.

        The scope is the queue, or the message group where the queue says so:
        https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/high-throughput-fifo.html
        """
        scope = message.group or "" if self.settings.deduplicates_by_group else ""
        key = (scope, message.deduplication_id or "")
        now = self._region.now_ms()
        earlier = self._recent.earlier(key, now)
        if earlier is not None:
            return earlier
        self.send(message, delay_seconds)
        self._recent.remember(key, dataclasses.replace(message), now)
        return message

    def send(self, message: Message, delay_seconds: int | None = None) -> None:
        """Large, growing, non-consecutive sequence numbers, as on AWS."""
        self._sequence_number += _SEQUENCE_STEP
        message.sequence_number = str(self._sequence_number)
        super().send(message, delay_seconds)

    def delete(self, handle: str) -> None:
        """Unlike a standard queue's, a handle whose lease has ended deletes nothing, and that is an error.

        https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_ReceiveMessage.html: if
        processing takes longer than the visibility timeout, deleting "fails with an error".
        """
        message = self._received_as(handle)
        if message is not None and message.due_ms <= self._region.now_ms():
            raise AwsError(
                "InvalidParameterValue",
                f"Value {handle} for parameter ReceiptHandle is invalid. Reason: The receipt handle has "
                "expired.",
            )
        super().delete(handle)

    def _pick(self, limit: int, groups: int | None) -> list[Message]:
        return self._groups.take(self._region.now_ms(), limit, self._may_be_received, groups)

    def _maybe_duplicate(self, message: Message) -> None:
        """https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/FIFO-queues-exactly-once-processing.html"""

    def _as_dead_letter(self, message: Message) -> Message:
        """Its age starts anew, and its id becomes its deduplication id, so that no two are taken for one.

        https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/setting-up-dead-letter-queue-retention.html
        and sqs-configure-dead-letter-queue-redrive.html
        """
        moved = super()._as_dead_letter(message)
        return dataclasses.replace(moved, sent_ms=self._region.now_ms(), deduplication_id=message.id)
