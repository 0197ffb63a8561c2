"""Dead letters, read without moving them."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from handlers.postroom.errors import Unreadable
from handlers.postroom.events import Envelope, read_envelope
from handlers.postroom.records import Record

HOLD_SECONDS = 120
MAX_HOLD_SECONDS = 43_200
"""docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-visibility-timeout.html"""
_WAIT_SECONDS = 1
"""Long polling asks every server of the queue, so that one empty answer means empty.
docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-short-and-long-polling.html"""
_BATCH = 10


@dataclass(frozen=True)
class Letter:
    """One message. `event` is None when its body is no event, for the reason in `unreadable`."""

    message: Mapping[str, Any]
    event: Envelope | None
    unreadable: str = ""

    @classmethod
    def of(cls, message: Mapping[str, Any]) -> "Letter":
        try:
            return cls(message, read_envelope(message["Body"]))
        except Unreadable as error:
            return cls(message, None, str(error))

    @property
    def id(self) -> str:
        return str(self.message["MessageId"])

    @property
    def handle(self) -> str:
        return str(self.message["ReceiptHandle"])

    @property
    def attributes(self) -> Mapping[str, str]:
        """What SQS itself says of it."""
        told: Mapping[str, str] = self.message.get("Attributes", {})
        return told

    @property
    def record(self) -> Record:
        return Record.from_receive(self.message)


@contextmanager
def held(sqs: Any, url: str, seconds: int = HOLD_SECONDS) -> Iterator[list[Letter]]:
    """Every letter of a queue, kept from others for so many seconds.

    What has not been deleted by the end of the block is given back.
    """
    letters: list[Letter] = []
    try:
        while messages := _receive(sqs, url, seconds):
            letters += map(Letter.of, messages)
        yield letters
    finally:
        give_back(sqs, url, letters)


def give_back(sqs: Any, url: str, letters: Sequence[Letter]) -> None:
    """Let others receive them at once. One that is no longer there is no loss."""
    for start in range(0, len(letters), _BATCH):
        entries = [
            {"Id": str(number), "ReceiptHandle": letter.handle, "VisibilityTimeout": 0}
            for number, letter in enumerate(letters[start : start + _BATCH])
        ]
        sqs.change_message_visibility_batch(QueueUrl=url, Entries=entries)


def _receive(sqs: Any, url: str, seconds: int) -> Sequence[Mapping[str, Any]]:
    answer = sqs.receive_message(
        QueueUrl=url,
        MaxNumberOfMessages=_BATCH,
        VisibilityTimeout=min(seconds, MAX_HOLD_SECONDS),
        WaitTimeSeconds=_WAIT_SECONDS,
        MessageSystemAttributeNames=["All"],
        MessageAttributeNames=["All"],
    )
    messages: Sequence[Mapping[str, Any]] = answer.get("Messages", [])
    return messages
