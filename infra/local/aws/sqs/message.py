"""A message, its attributes, and the rules for what a message may hold."""

import base64
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from infra.local.aws.errors import AwsError

MAX_ATTRIBUTES = 10

# https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-messages.html:
# #x9 | #xA | #xD | #x20 to #xD7FF | #xE000 to #xFFFD | #x10000 to #x10FFFF
_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_TRANSPORT_STRING, _TRANSPORT_BINARY = b"\x01", b"\x02"

Attributes = Mapping[str, Mapping[str, Any]]


@dataclass(slots=True, eq=False)
class Message:
    """One copy of a message in a queue. Times are milliseconds since the epoch.

    `turn` names its one valid place in the queue's line, `lease` its latest receive (0: never received).
    """

    id: str
    body: str
    sent_ms: int
    sender: str
    attributes: Attributes = field(default_factory=dict)
    system: Mapping[str, str] = field(default_factory=dict)
    source_arn: str | None = None
    group: str | None = None
    deduplication_id: str | None = None
    sequence_number: str | None = None
    receive_count: int = 0
    first_received_ms: int | None = None
    leased_ms: int = 0
    lease: int = 0
    due_ms: int = 0
    turn: int = 0

    @property
    def tenant(self) -> str | None:
        return self.group


@dataclass(frozen=True, slots=True)
class Received:
    """A message handed out, as it was at that instant."""

    message: Message
    handle: str
    receive_count: int

    def system_attributes(self) -> dict[str, str]:
        """https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_ReceiveMessage.html"""
        message = self.message
        attributes = {
            "SenderId": message.sender,
            "SentTimestamp": str(message.sent_ms),
            "ApproximateReceiveCount": str(self.receive_count),
            "ApproximateFirstReceiveTimestamp": str(message.first_received_ms),
            **message.system,
        }
        optional = {
            "DeadLetterQueueSourceArn": message.source_arn,
            "MessageDeduplicationId": message.deduplication_id,
            "MessageGroupId": message.group,
            "SequenceNumber": message.sequence_number,
        }
        return attributes | {name: value for name, value in optional.items() if value is not None}


def forbidden_character(text: str) -> bool:
    """Whether the text holds a character outside the XML set, which SQS and SNS refuse."""
    return _FORBIDDEN.search(text) is not None


def md5(text: str) -> str:
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


def attributes_md5(attributes: Attributes) -> str:
    """The digest that SDKs compare.

    https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-message-metadata.html
    """
    digest = hashlib.md5(usedforsecurity=False)
    for name in sorted(attributes):
        digest.update(_encoded_attribute(name, attributes[name]))
    return digest.hexdigest()


def size(body: str, attributes: Attributes) -> int:
    """Bytes that count towards the limits: the body, and each attribute's name, type and value."""
    total = len(body.encode())
    for name, attribute in attributes.items():
        total += len(name.encode()) + len(attribute["DataType"].encode()) + len(_value(attribute))
    return total


def check_attributes(attributes: Attributes) -> None:
    """https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-message-metadata.html"""
    if len(attributes) > MAX_ATTRIBUTES:
        raise AwsError(
            "InvalidParameterValue",
            f"Number of message attributes [{len(attributes)}] exceeds the maximum [{MAX_ATTRIBUTES}].",
        )
    for name, attribute in attributes.items():
        _check_attribute(name, attribute)


def _check_attribute(name: str, attribute: Mapping[str, Any]) -> None:
    kind = str(attribute.get("DataType", "")).split(".")[0]
    if kind not in ("String", "Number", "Binary"):
        raise AwsError(
            "InvalidParameterValue",
            f"The message attribute '{name}' has an invalid message attribute type, the set of supported "
            "type prefixes is Binary, Number, and String.",
        )
    if not _value(attribute):
        raise AwsError(
            "InvalidParameterValue",
            f"The message attribute '{name}' must contain a non-empty message attribute value for message "
            f"attribute type '{kind}'.",
        )
    if forbidden_character(attribute.get("StringValue", "")):
        raise AwsError("InvalidMessageContents", f"Invalid characters in the message attribute '{name}'.")


def _value(attribute: Mapping[str, Any]) -> bytes:
    if "StringValue" in attribute:
        return str(attribute["StringValue"]).encode()
    return base64.b64decode(attribute.get("BinaryValue", ""))


def _encoded_attribute(name: str, attribute: Mapping[str, Any]) -> bytes:
    kind = attribute["DataType"]
    transport = _TRANSPORT_BINARY if kind.startswith("Binary") else _TRANSPORT_STRING
    return (
        _with_length(name.encode())
        + _with_length(kind.encode())
        + transport
        + _with_length(_value(attribute))
    )


def _with_length(content: bytes) -> bytes:
    return len(content).to_bytes(4, "big") + content
