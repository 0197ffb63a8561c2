"""Groups and deduplication at a topic: what FIFO topics demand, and what either type hands on.

https://docs.aws.amazon.com/sns/latest/dg/sns-fifo-topics.html
"""

import json
from collections.abc import Mapping
from typing import Any

from infra.local.aws import group_ids
from infra.local.aws.deduplication import Key, content_id
from infra.local.aws.errors import AwsError
from infra.local.aws.sns.topic import Publication, Topic

Params = Mapping[str, Any]
_FIFO = ".fifo"


def check(topic: Topic, entry: Params) -> None:
    """https://docs.aws.amazon.com/sns/latest/api/API_Publish.html"""
    group, deduplication_id = entry.get("MessageGroupId"), entry.get("MessageDeduplicationId")
    if topic.is_fifo and group is None:
        raise _invalid("The MessageGroupId parameter is required for FIFO topics")
    if topic.is_fifo and deduplication_id is None and not topic.deduplicates_by_content:
        raise _invalid(
            "The topic should either have ContentBasedDeduplication enabled or MessageDeduplicationId "
            "provided explicitly"
        )
    if deduplication_id is not None and not topic.is_fifo:
        raise _invalid(
            "MessageDeduplicationId Reason: The request includes MessageDeduplicationId parameter that is "
            "not valid for this topic type"
        )
    for name, value in (("MessageGroupId", group), ("MessageDeduplicationId", deduplication_id)):
        if value is not None and not group_ids.is_valid(value):
            raise _invalid(f"{name} Reason: 1 to 128 alphanumeric and punctuation characters")


def check_types(topic: Topic, endpoint: str, attributes: Mapping[str, str]) -> None:
    """A FIFO queue takes from FIFO topics only, a standard queue from both.

    https://docs.aws.amazon.com/sns/latest/dg/fifo-message-delivery.html
    """
    if endpoint.endswith(_FIFO) and not topic.is_fifo:
        raise _invalid("Endpoint Reason: FIFO SQS Queues can not be subscribed to standard SNS topics")
    redrive = attributes.get("RedrivePolicy")
    if redrive and json.loads(redrive)["deadLetterTargetArn"].endswith(_FIFO) != topic.is_fifo:
        raise _invalid("RedrivePolicy: must use a dead-letter queue of the topic's type")


def deduplication_id(topic: Topic, entry: Params) -> str | None:
    given: str | None = entry.get("MessageDeduplicationId")
    return given or (content_id(entry["Message"]) if topic.is_fifo else None)


def deduplication_key(topic: Topic, publication: Publication) -> Key:
    scope = publication.group if topic.deduplicates_by_group else None
    return scope or "", publication.deduplication_id or ""


def passed_on(publication: Publication, queue_arn: str) -> tuple[str | None, str | None]:
    """The group and deduplication id that a queue gets.

    A FIFO topic gives both to FIFO queues and none to standard ones
    (https://docs.aws.amazon.com/sns/latest/dg/fifo-message-grouping.html); a standard topic gives the group
    to standard queues, for fairness (https://docs.aws.amazon.com/sns/latest/api/API_Publish.html).
    """
    if queue_arn.endswith(_FIFO):
        return publication.group, publication.deduplication_id
    is_from_fifo_topic = publication.topic_arn.endswith(_FIFO)
    return None if is_from_fifo_topic else publication.group, None


def _invalid(reason: str) -> AwsError:
    return AwsError("InvalidParameter", f"Invalid parameter: {reason}")
