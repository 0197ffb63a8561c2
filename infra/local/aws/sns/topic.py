"""A topic, its subscriptions, and what a subscriber gets of a message."""

import datetime
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from infra.local.aws.deduplication import Recent
from infra.local.aws.errors import AwsError
from infra.local.aws.sns import filters
from infra.local.aws.sqs.message import MAX_ATTRIBUTES, Attributes

_SETTABLE = ("FilterPolicy", "FilterPolicyScope", "RawMessageDelivery", "RedrivePolicy")
DEFAULT_MESSAGE_BYTES = 262_144
_FIRST_SEQUENCE_NUMBER = 10_000_000_000_000_000_000
_SEQUENCE_STEP = 1_000


@dataclass(frozen=True)
class Publication:
    """One message as it was published; `at` in seconds since the epoch."""

    id: str
    topic_arn: str
    message: str
    subject: str | None
    attributes: Attributes
    at: float
    group: str | None = None
    deduplication_id: str | None = None
    sequence_number: str | None = None


class Subscription:
    """A queue's subscription.

    https://docs.aws.amazon.com/sns/latest/api/API_SetSubscriptionAttributes.html
    """

    def __init__(self, arn: str, endpoint: str, attributes: Mapping[str, str]) -> None:
        self.arn = arn
        self.endpoint = endpoint
        self.attributes: dict[str, str] = {}
        self._change(attributes)

    def change(self, name: str, value: str) -> None:
        self._change({**self.attributes, name: value})

    def wants(self, publication: Publication) -> bool:
        if self._filter is None:
            return True
        if self._in_body:
            return filters.matches_body(self._filter, publication.message)
        return filters.matches_attributes(self._filter, publication.attributes)

    @property
    def dead_letter_arn(self) -> str | None:
        """https://docs.aws.amazon.com/sns/latest/dg/sns-dead-letter-queues.html"""
        policy = self.attributes.get("RedrivePolicy")
        return None if policy is None else json.loads(policy)["deadLetterTargetArn"]

    def delivery(self, publication: Publication) -> tuple[str, Attributes]:
        """The SQS body and message attributes: raw, or wrapped in a notification without any.

        https://docs.aws.amazon.com/sns/latest/dg/sns-large-payload-raw-message-delivery.html
        """
        if self.is_raw:
            return publication.message, publication.attributes
        return json.dumps(_notification(self.arn, publication)), {}

    @property
    def is_raw(self) -> bool:
        return self.attributes.get("RawMessageDelivery", "").lower() == "true"

    def can_carry(self, publication: Publication) -> bool:
        """Raw delivery of more than 10 attributes fails as a client-side error (same page as `delivery`)."""
        return not self.is_raw or len(publication.attributes) <= MAX_ATTRIBUTES

    def _change(self, attributes: Mapping[str, str]) -> None:
        for name in attributes:
            if name not in _SETTABLE:
                raise AwsError("InvalidParameter", f"Invalid parameter: AttributeName {name}")
        in_body = attributes.get("FilterPolicyScope") == "MessageBody"
        policy = attributes.get("FilterPolicy")
        self._filter = filters.parse(policy, in_body) if policy else None
        self._in_body = in_body
        self.attributes = dict(attributes)


@dataclass
class Topic:
    """https://docs.aws.amazon.com/sns/latest/api/API_CreateTopic.html"""

    name: str
    arn: str
    attributes: dict[str, str]
    subscriptions: dict[str, Subscription] = field(default_factory=dict)
    recent: Recent[Publication] = field(default_factory=Recent)
    published: int = 0

    def next_sequence_number(self) -> str:
        """Large, growing, not consecutive: https://docs.aws.amazon.com/sns/latest/api/API_Publish.html."""
        self.published += 1
        return str(_FIRST_SEQUENCE_NUMBER + self.published * _SEQUENCE_STEP)

    @property
    def is_fifo(self) -> bool:
        return self.attributes.get("FifoTopic") == "true"

    @property
    def deduplicates_by_content(self) -> bool:
        return self.attributes.get("ContentBasedDeduplication") == "true"

    @property
    def deduplicates_by_group(self) -> bool:
        return self.attributes.get("FifoThroughputScope") == "MessageGroup"

    @property
    def max_message_bytes(self) -> int:
        return int(self.attributes.get("MaximumMessageSize", DEFAULT_MESSAGE_BYTES))


def _notification(subscription_arn: str, publication: Publication) -> dict[str, Any]:
    """https://docs.aws.amazon.com/sns/latest/dg/sns-message-and-json-formats.html; nothing is signed here."""
    subject = {} if publication.subject is None else {"Subject": publication.subject}
    notification: dict[str, Any] = {
        "Type": "Notification",
        "MessageId": publication.id,
        "TopicArn": publication.topic_arn,
        **subject,
        "Message": publication.message,
        "Timestamp": _timestamp(publication.at),
        "SignatureVersion": "1",
        "Signature": "local",
        "SigningCertURL": "https://sns.amazonaws.com/local.pem",
        "UnsubscribeURL": f"https://sns.amazonaws.com/?Action=Unsubscribe&SubscriptionArn={subscription_arn}",
    }
    if publication.sequence_number is not None:
        notification["SequenceNumber"] = publication.sequence_number
    if publication.attributes:
        notification["MessageAttributes"] = {
            name: {
                "Type": attribute["DataType"],
                "Value": attribute.get("StringValue", attribute.get("BinaryValue")),
            }
            for name, attribute in publication.attributes.items()
        }
    return notification


def _timestamp(at: float) -> str:
    moment = datetime.datetime.fromtimestamp(at, datetime.UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
