"""A queue's attributes: what may be set, within which bounds, and what it means.

https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SetQueueAttributes.html
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from infra.local.aws.errors import AwsError
from infra.local.aws.sqs.policy import Policy

# name: (default, least, most)
_NUMBERS = {
    "DelaySeconds": (0, 0, 900),
    "MaximumMessageSize": (1_048_576, 1_024, 1_048_576),
    "MessageRetentionPeriod": (345_600, 60, 1_209_600),
    "ReceiveMessageWaitTimeSeconds": (0, 0, 20),
    "VisibilityTimeout": (30, 0, 43_200),
    "KmsDataKeyReusePeriodSeconds": (300, 60, 86_400),
}
_FIFO_CHOICES = {
    "FifoQueue": ("true",),
    "ContentBasedDeduplication": ("false", "true"),
    "DeduplicationScope": ("queue", "messageGroup"),
    "FifoThroughputLimit": ("perQueue", "perMessageGroupId"),
}
"""Attributes of FIFO queues only: the default first."""
_TEXTS = ("KmsMasterKeyId", "Policy", "RedriveAllowPolicy", "RedrivePolicy", "SqsManagedSseEnabled")
_SHOWN_BY_DEFAULT = (
    "DelaySeconds",
    "MaximumMessageSize",
    "MessageRetentionPeriod",
    "ReceiveMessageWaitTimeSeconds",
    "VisibilityTimeout",
)
MAX_RECEIVES = 1_000


@dataclass(frozen=True)
class Redrive:
    """After how many receives a message goes where."""

    target_arn: str
    max_receive_count: int


class Settings:
    """Checked attributes of one queue."""

    def __init__(self, attributes: Mapping[str, str]) -> None:
        for name, value in attributes.items():
            _check(name, value)
        self.attributes = {name: value for name, value in attributes.items() if value != ""}
        self.delay_seconds = self._number("DelaySeconds")
        self.max_message_bytes = self._number("MaximumMessageSize")
        self.retention_seconds = self._number("MessageRetentionPeriod")
        self.wait_seconds = self._number("ReceiveMessageWaitTimeSeconds")
        self.visibility_seconds = self._number("VisibilityTimeout")
        self.redrive = _redrive(self.attributes.get("RedrivePolicy"))
        self.is_fifo = "FifoQueue" in self.attributes
        self.deduplicates_by_content = self.attributes.get("ContentBasedDeduplication") == "true"
        self.deduplicates_by_group = self.attributes.get("DeduplicationScope") == "messageGroup"
        self._check_fifo()
        self.policy = Policy.parse(self.attributes.get("Policy"))

    def with_changes(self, changes: Mapping[str, str]) -> "Settings":
        """The settings after a change; an empty value takes an attribute away. The type never changes."""
        if "FifoQueue" in changes:
            raise AwsError("InvalidAttributeName", "Unknown Attribute FifoQueue.")
        return Settings({**self.attributes, **changes})

    def shown(self) -> dict[str, str]:
        """As GetQueueAttributes shows them, defaults included."""
        defaults = {name: str(_NUMBERS[name][0]) for name in _SHOWN_BY_DEFAULT}
        encryption = {} if "KmsMasterKeyId" in self.attributes else {"SqsManagedSseEnabled": "true"}
        fifo = {name: choices[0] for name, choices in _FIFO_CHOICES.items()} if self.is_fifo else {}
        return {**defaults, **encryption, **fifo, **self.attributes}

    def _check_fifo(self) -> None:
        """https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/high-throughput-fifo.html"""
        foreign = [name for name in self.attributes if name in _FIFO_CHOICES and not self.is_fifo]
        if foreign:
            raise AwsError("InvalidAttributeName", f"Unknown Attribute {foreign[0]}.")
        limit = self.attributes.get("FifoThroughputLimit")
        if limit == "perMessageGroupId" and not self.deduplicates_by_group:
            raise AwsError(
                "InvalidAttributeValue",
                "FifoThroughputLimit perMessageGroupId requires DeduplicationScope messageGroup.",
            )

    def _number(self, name: str) -> int:
        return int(self.attributes.get(name, _NUMBERS[name][0]))


def _check(name: str, value: str) -> None:
    if name in _NUMBERS:
        _, least, most = _NUMBERS[name]
        if not (value.isascii() and value.isdigit() and least <= int(value) <= most):
            raise AwsError("InvalidAttributeValue", f"Invalid value for the parameter {name}.")
    elif name in _FIFO_CHOICES:
        if value not in _FIFO_CHOICES[name]:
            raise AwsError("InvalidAttributeValue", f"Invalid value for the parameter {name}.")
    elif name not in _TEXTS:
        raise AwsError("InvalidAttributeName", f"Unknown Attribute {name}.")


def _redrive(text: str | None) -> Redrive | None:
    if text is None:
        return None
    try:
        policy = json.loads(text)
        redrive = Redrive(policy["deadLetterTargetArn"], int(policy["maxReceiveCount"]))
    except (ValueError, KeyError, TypeError) as error:
        raise _bad_redrive(text, "Redrive policy is not a valid JSON map") from error
    if not 1 <= redrive.max_receive_count <= MAX_RECEIVES:
        raise _bad_redrive(text, f"Invalid value for maxReceiveCount: {redrive.max_receive_count}")
    return redrive


def _bad_redrive(text: str, reason: str) -> AwsError:
    return AwsError(
        "InvalidParameterValue", f"Value {text} for parameter RedrivePolicy is invalid. Reason: {reason}."
    )
