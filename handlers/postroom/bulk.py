"""Many messages straight into one queue: as few calls as possible, and each message confirmed.

A batch may fail in part inside an answer of 200: what failed for a passing reason is sent again alone.
docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessageBatch.html
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from .errors import Permanent, Transient
from .events import Event
from .outbox import message_group
from .relay import Rejection

BATCH_ENTRIES = 10
BATCH_BYTES = 1_048_576 - 16 * 1024
"""A call takes 10 messages and 1 MiB, attributes included; we leave room for the attributes."""
SEND_TRIES = 4
LONGEST_PAUSE_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class Message:
    """`group` is whose it is: a standard queue serves the groups by turns, however much one has in it.

    docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-fair-queues.html
    """

    body: str
    event_type: str
    group: str

    @classmethod
    def of(cls, event: Event[Any]) -> "Message":
        return cls(event.to_json(), event.type, message_group(event.owner))


class BulkQueue(Protocol):
    def send(self, messages: Sequence[Message]) -> Sequence[Rejection]:
        """Send up to 10 messages in one call; returns those not taken.

        Raises `Transient` when the call as a whole failed.
        """


@dataclass(frozen=True, slots=True)
class BulkSender:
    """`pause` waits for at most so many seconds."""

    queue: BulkQueue
    pause: Callable[[float], None]

    def send(self, messages: Sequence[Message]) -> None:
        """Returns when the queue has confirmed every one.

        Raises `Permanent` for a message that the queue will never take, `Transient` when it kept refusing;
        some of them may then be in the queue.
        """
        for batch in batches(messages):
            self._send_batch(batch)

    def _send_batch(self, batch: Sequence[Message]) -> None:
        waiting = list(batch)
        for attempt in range(SEND_TRIES):
            if attempt:
                self.pause(LONGEST_PAUSE_SECONDS)
            rejected = self.queue.send(waiting)
            _surface([each for each in rejected if each.by_sender])
            waiting = [waiting[each.index] for each in rejected]
            if not waiting:
                return
        raise Transient(f"the queue kept refusing {len(waiting)} messages of a batch")


def batches(messages: Sequence[Message]) -> Iterator[Sequence[Message]]:
    """Runs of messages that fit one call each, in order."""
    start = size = 0
    for index, message in enumerate(messages):
        own = len(message.body.encode())
        if index > start and (index - start == BATCH_ENTRIES or size + own > BATCH_BYTES):
            yield messages[start:index]
            start, size = index, 0
        size += own
    if start < len(messages):
        yield messages[start:]


def _surface(refused: Sequence[Rejection]) -> None:
    if refused:
        raise Permanent(f"the queue will never take a message: {refused[0].reason}")
