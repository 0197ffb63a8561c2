"""One SQS message as Lambda hands it to a function."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

REPUBLISH = "republish"
REOPEN = "reopen"
"""The message attribute, and its value, by which a new publication of an event reopens a dead job."""


@dataclass(frozen=True, slots=True)
class Record:
    """A delivery of a message. `sent_at` is epoch seconds; a redrive sends anew, so it moves with each.

    `publication` is the id of the publication that this message is a copy of: it survives every redrive,
    where the message id does not.
    Source: docs.aws.amazon.com/lambda/latest/dg/with-sqs.html (example event)
    """

    message_id: str
    receipt_handle: str
    body: str
    receive_count: int
    sent_at: float
    publication: str
    group: str = ""
    """The message group of a FIFO queue; empty on a standard queue."""
    may_reopen: bool = False
    """Whether an operator sent it to reopen a dead job (see `republish`)."""

    @classmethod
    def from_lambda(cls, raw: Mapping[str, Any]) -> "Record":
        attributes = raw.get("attributes") or {}
        told = {
            name: value.get("stringValue") for name, value in (raw.get("messageAttributes") or {}).items()
        }
        return cls(
            message_id=raw["messageId"],
            receipt_handle=raw.get("receiptHandle", ""),
            body=raw.get("body") or "",
            receive_count=int(attributes.get("ApproximateReceiveCount", 1)),
            sent_at=int(attributes.get("SentTimestamp", 0)) / 1000,
            group=attributes.get("MessageGroupId", ""),
            publication=told.get("publication") or "",
            may_reopen=told.get(REPUBLISH) == REOPEN,
        )

    @classmethod
    def from_receive(cls, raw: Mapping[str, Any]) -> "Record":
        """From `ReceiveMessage`, which writes the same names with a capital."""
        attributes = {
            name: {"stringValue": value.get("StringValue")}
            for name, value in (raw.get("MessageAttributes") or {}).items()
        }
        return cls.from_lambda(
            {
                "messageId": raw["MessageId"],
                "receiptHandle": raw["ReceiptHandle"],
                "body": raw.get("Body"),
                "attributes": raw.get("Attributes"),
                "messageAttributes": attributes,
            }
        )

    @property
    def is_first_receive(self) -> bool:
        return self.receive_count <= 1


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one record. `visibility_seconds` None acknowledges it; else it comes back after that."""

    name: str
    visibility_seconds: int | None = None
    run_failed: bool = field(default=False, compare=False)
    """Whether a run has failed for it just now; a dead job's message comes back a few times without any."""


COMPLETED = Outcome("completed")
DUPLICATE = Outcome("duplicate")
CANCELLED = Outcome("cancelled")
EXPIRED = Outcome("expired")
DEAD = Outcome("dead", 0)
"""Back at once, unrun, until the queue's own redrive policy moves it: nothing of ours sends to a dead-letter
queue, because a message sent there directly cannot be redriven to its source.
docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-configure-dead-letter-queue-redrive.html
"""
GIVEN_BACK = Outcome("given_back", 0)
PARKED = Outcome("parked")
"""Acknowledged, but not done: it is kept, and comes back when its turn has come."""
PUT_OFF = Outcome("put_off")
"""Acknowledged, because the table has taken over when it is to come back."""
