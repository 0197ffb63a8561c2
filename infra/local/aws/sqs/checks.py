"""What a request to SQS may hold.

https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessage.html
"""

import re
from collections.abc import Mapping
from typing import Any

from infra.local.aws import group_ids
from infra.local.aws.deduplication import content_id
from infra.local.aws.errors import AwsError
from infra.local.aws.sqs import message as messages
from infra.local.aws.sqs.queue import Queue
from infra.local.aws.sqs.settings import Settings

Params = Mapping[str, Any]

_QUEUE_NAME = re.compile(r"[A-Za-z0-9_-]{1,80}")
_FIFO_QUEUE_NAME = re.compile(r"[A-Za-z0-9_-]{1,75}\.fifo")


def check_name(name: str, settings: Settings) -> None:
    """https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_CreateQueue.html"""
    if settings.is_fifo and not _FIFO_QUEUE_NAME.fullmatch(name):
        raise invalid("The name of a FIFO queue can only include what other names can, and ends with .fifo")
    if not settings.is_fifo and not _QUEUE_NAME.fullmatch(name):
        raise invalid("Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length")


def check_ids(queue: Queue, params: Params) -> None:
    """Which of group, deduplication id and own delay a queue's type takes.

    https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessage.html
    """
    group, deduplication_id = params.get("MessageGroupId"), params.get("MessageDeduplicationId")
    is_fifo = queue.settings.is_fifo
    if is_fifo and group is None:
        raise AwsError("MissingParameter", "The request must contain the parameter MessageGroupId.")
    if is_fifo and deduplication_id is None and not queue.settings.deduplicates_by_content:
        raise invalid(
            "The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId "
            "provided explicitly"
        )
    foreign = "DelaySeconds" if is_fifo else "MessageDeduplicationId"
    if params.get(foreign):
        raise invalid(
            f"Value {params[foreign]} for parameter {foreign} is invalid. Reason: The request include "
            "parameter that is not valid for this queue type"
        )
    for name, value in (("MessageGroupId", group), ("MessageDeduplicationId", deduplication_id)):
        if value is not None and not group_ids.is_valid(value):
            raise invalid(
                f"Value {value} for parameter {name} is invalid. Reason: {name} can only include "
                "alphanumeric and punctuation characters. 1 to 128 in length"
            )


def deduplication_id(queue: Queue, params: Params) -> str | None:
    given: str | None = params.get("MessageDeduplicationId")
    return given or (content_id(params["MessageBody"]) if queue.settings.is_fifo else None)


def size(entry: Params) -> int:
    attributes = entry.get("MessageAttributes") or {}
    typed = {name: attribute for name, attribute in attributes.items() if "DataType" in attribute}
    return messages.size(entry.get("MessageBody") or "", typed)


def check_message(queue: Queue, body: str | None, attributes: messages.Attributes) -> None:
    """https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessage.html"""
    if not body:
        raise AwsError("MissingParameter", "The request must contain the parameter MessageBody.")
    if messages.forbidden_character(body):
        raise AwsError(
            "InvalidMessageContents", "Invalid characters found. Valid unicode characters are the XML set."
        )
    messages.check_attributes(attributes)
    limit = queue.settings.max_message_bytes
    if messages.size(body, attributes) > limit:
        raise invalid(
            f"One or more parameters are invalid. Reason: Message must be shorter than {limit} bytes"
        )


def bounded(params: Params, name: str, most: int) -> int | None:
    """An optional number of seconds within 0 and the maximum."""
    value: int | None = params.get(name)
    if value is not None and not 0 <= value <= most:
        raise invalid(f"Value {value} for parameter {name} is invalid. Reason: Must be >= 0 and <= {most}")
    return value


def invalid(reason: str) -> AwsError:
    return AwsError("InvalidParameterValue", f"{reason}.")
