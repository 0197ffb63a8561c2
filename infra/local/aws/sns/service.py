"""The operations of Amazon SNS. Deliveries to queues happen within the publish.

https://docs.aws.amazon.com/sns/latest/api/API_Operations.html
"""

import re
from collections.abc import Mapping
from typing import Any

from infra.local.aws import batch
from infra.local.aws.errors import AwsError
from infra.local.aws.region import Region
from infra.local.aws.sns import ordering
from infra.local.aws.sns.phones import Phones
from infra.local.aws.sns.topic import Publication, Subscription, Topic
from infra.local.aws.sqs import Sqs
from infra.local.aws.sqs.message import Message, forbidden_character, size

Params = Mapping[str, Any]
Answer = dict[str, Any]

_MESSAGE_BYTES = range(1_024, 1_048_576 + 1)
_TOPIC_NAME = re.compile(r"[A-Za-z0-9_-]{1,256}")
_FIFO_TOPIC_NAME = re.compile(r"[A-Za-z0-9_-]{1,251}\.fifo")
_SENDER = "sns.amazonaws.com"


class Sns:
    """All topics of the account."""

    def __init__(self, region: Region, sqs: Sqs) -> None:
        self._region = region
        self._sqs = sqs
        self.topics: dict[str, Topic] = {}
        self.phones = Phones(region)

    def topic(self, arn: str) -> Topic:
        """A topic by its ARN or name; NotFound when there is none."""
        found = self.topics.get(arn.split(":")[-1])
        if found is None:
            raise AwsError("NotFound", "Topic does not exist", 404)
        return found

    def create_topic(self, params: Params) -> Answer:
        name, attributes = params["Name"], dict(params.get("Attributes") or {})
        pattern = _FIFO_TOPIC_NAME if attributes.get("FifoTopic") == "true" else _TOPIC_NAME
        if not pattern.fullmatch(name):
            raise AwsError("InvalidParameter", "Invalid parameter: Topic Name")
        if "MaximumMessageSize" in attributes and int(attributes["MaximumMessageSize"]) not in _MESSAGE_BYTES:
            raise AwsError("InvalidParameter", "Invalid parameter: Attributes Reason: MaximumMessageSize")
        topic = self.topics.setdefault(name, Topic(name, self._region.arn("sns", name), attributes))
        return {"TopicArn": topic.arn}

    def subscribe(self, params: Params) -> Answer:
        """An endpoint subscribed before keeps its ARN.

        https://docs.aws.amazon.com/sns/latest/api/API_Subscribe.html
        """
        topic = self.topic(params["TopicArn"])
        if params["Protocol"] != "sqs":
            raise AwsError(
                "InvalidParameter", f"Invalid parameter: protocol {params['Protocol']} is not modelled"
            )
        ordering.check_types(topic, params["Endpoint"], params.get("Attributes") or {})
        for known in topic.subscriptions.values():
            if known.endpoint == params["Endpoint"]:
                return {"SubscriptionArn": known.arn}
        arn = f"{topic.arn}:{self._region.new_id()}"
        topic.subscriptions[arn] = Subscription(arn, params["Endpoint"], params.get("Attributes") or {})
        return {"SubscriptionArn": arn}

    def set_subscription_attributes(self, params: Params) -> Answer:
        arn = params["SubscriptionArn"]
        topic = self.topic(arn.rpartition(":")[0])
        subscription = topic.subscriptions.get(arn)
        if subscription is None:
            raise AwsError("NotFound", "Subscription does not exist", 404)
        name, value = params["AttributeName"], params.get("AttributeValue", "")
        ordering.check_types(topic, subscription.endpoint, {name: value})
        subscription.change(name, value)
        return {}

    def publish(self, params: Params) -> Answer:
        if "PhoneNumber" in params:
            _check_message(params)
            return {"MessageId": self.phones.deliver(params["PhoneNumber"], params["Message"])}
        topic = self.topic(params["TopicArn"])
        _check_size([params], topic, "InvalidParameter", "Invalid parameter: Message too long")
        return self._publish_entry(topic, params)

    def publish_batch(self, params: Params) -> Answer:
        """Entries fail one by one, inside a 200.

        https://docs.aws.amazon.com/sns/latest/api/API_PublishBatch.html
        """
        topic, entries = self.topic(params["TopicArn"]), params["PublishBatchRequestEntries"]
        batch.check(entries)
        _check_size(
            entries, topic, "BatchRequestTooLong", "The length of all the messages is more than the limit."
        )
        is_partial = self._region.switches.is_partial("sns", "PublishBatch")
        return batch.run(entries, lambda entry: self._publish_entry(topic, entry), is_partial)

    def _publish_entry(self, topic: Topic, entry: Params) -> Answer:
        _check_message(entry)
        ordering.check(topic, entry)
        publication = self._accept(topic, entry)
        order = {"SequenceNumber": publication.sequence_number} if topic.is_fifo else {}
        return {"MessageId": publication.id, **order}

    def _accept(self, topic: Topic, entry: Params) -> Publication:
        """What a FIFO topic had within five minutes stands for the same again, which is not delivered.

        https://docs.aws.amazon.com/sns/latest/dg/fifo-message-dedup.html
        """
        publication = self._publication(topic, entry)
        if not topic.is_fifo:
            self._fan_out(topic, publication)
            return publication
        key, now = ordering.deduplication_key(topic, publication), self._region.now_ms()
        earlier = topic.recent.earlier(key, now)
        if earlier is None:
            self._fan_out(topic, publication)
            topic.recent.remember(key, publication, now)
        return earlier or publication

    def _publication(self, topic: Topic, entry: Params) -> Publication:
        return Publication(
            self._region.new_id(),
            topic.arn,
            entry["Message"],
            entry.get("Subject"),
            entry.get("MessageAttributes") or {},
            self._region.clock.now(),
            entry.get("MessageGroupId"),
            ordering.deduplication_id(topic, entry),
            topic.next_sequence_number() if topic.is_fifo else None,
        )

    def _fan_out(self, topic: Topic, publication: Publication) -> None:
        for subscription in topic.subscriptions.values():
            if subscription.wants(publication):
                self._deliver(subscription, publication)

    def _deliver(self, subscription: Subscription, publication: Publication) -> None:
        """What cannot be delivered goes to the subscription's dead-letter queue, or is lost, as on AWS.

        https://docs.aws.amazon.com/sns/latest/dg/sns-dead-letter-queues.html
        """
        if subscription.can_carry(publication) and self._send(
            subscription, publication, subscription.endpoint
        ):
            return
        if subscription.dead_letter_arn is not None:
            self._send(subscription, publication, subscription.dead_letter_arn)

    def _send(self, subscription: Subscription, publication: Publication, queue_arn: str) -> bool:
        body, attributes = subscription.delivery(publication)
        group, deduplication_id = ordering.passed_on(publication, queue_arn)
        message = Message(
            self._region.new_id(),
            body,
            self._region.now_ms(),
            _SENDER,
            attributes,
            group=group,
            deduplication_id=deduplication_id,
        )
        return self._sqs.deliver(queue_arn, publication.topic_arn, message)


def _check_message(entry: Params) -> None:
    """https://docs.aws.amazon.com/sns/latest/api/API_Publish.html"""
    if not entry.get("Message"):
        raise AwsError("InvalidParameter", "Invalid parameter: Empty message")
    if forbidden_character(entry["Message"]):
        raise AwsError("InvalidParameter", "Invalid parameter: Message Reason: Invalid characters in message")
    for name, attribute in (entry.get("MessageAttributes") or {}).items():
        _check_attribute(name, attribute)


def _check_attribute(name: str, attribute: Mapping[str, Any]) -> None:
    """https://docs.aws.amazon.com/sns/latest/dg/sns-message-attributes.html"""
    kind = attribute.get("DataType", "")
    if kind.split(".")[0] not in ("String", "Number", "Binary"):
        raise AwsError(
            "ParameterValueInvalid", f"The message attribute '{name}' has an invalid message attribute type."
        )
    if not attribute.get("StringValue") and not attribute.get("BinaryValue"):
        raise AwsError(
            "ParameterValueInvalid",
            f"The message attribute '{name}' must contain a non-empty value for type '{kind}'.",
        )
    if forbidden_character(attribute.get("StringValue") or ""):
        raise AwsError("ParameterValueInvalid", f"Invalid characters in the message attribute '{name}'.")


def _check_size(entries: list[Params], topic: Topic, code: str, message: str) -> None:
    total = sum(size(entry.get("Message") or "", _complete(entry)) for entry in entries)
    if total > topic.max_message_bytes:
        raise AwsError(code, message)


def _complete(entry: Params) -> Mapping[str, Any]:
    attributes = entry.get("MessageAttributes") or {}
    return {name: attribute for name, attribute in attributes.items() if "DataType" in attribute}
