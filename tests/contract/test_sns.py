"""A topic delivers to the queues that want a message and let it in.

https://docs.aws.amazon.com/sns/latest/dg/sns-sqs-as-subscriber.html
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from tests.contract.builders import allow, create_queue, queue_arn, refused, send_policy

PUBLISH_DOC = "https://docs.aws.amazon.com/sns/latest/api/API_Publish.html"
BATCH_DOC = "https://docs.aws.amazon.com/sns/latest/api/API_PublishBatch.html"
ACCESS_DOC = "https://docs.aws.amazon.com/sns/latest/dg/subscribe-sqs-queue-to-sns-topic.html"
DEAD_LETTER_DOC = "https://docs.aws.amazon.com/sns/latest/dg/sns-dead-letter-queues.html"
DEFAULT_LIMIT = 262_144
TYPE = {"type": {"DataType": "String", "StringValue": "order.paid"}}


@dataclass
class Topic:
    """A topic, and the queues that the test subscribes to it."""

    sns: Any
    sqs: Any
    arn: str

    def queue(self, name: str, allowed: bool = True, **attributes: str) -> str:
        """The URL of a new queue that is subscribed with these attributes."""
        url = create_queue(self.sqs, name)
        if allowed:
            allow(self.sqs, self.arn, url)
        self.subscribe(queue_arn(self.sqs, url), **attributes)
        return url

    def subscribe(self, endpoint: str, **attributes: str) -> str:
        answer = self.sns.subscribe(
            TopicArn=self.arn,
            Protocol="sqs",
            Endpoint=endpoint,
            Attributes=attributes,
            ReturnSubscriptionArn=True,
        )
        arn: str = answer["SubscriptionArn"]
        return arn

    def publish(self, message: str = "order", **more: Any) -> Any:
        return self.sns.publish(TopicArn=self.arn, Message=message, **more)

    def publish_batch(self, *entries: dict[str, Any]) -> Any:
        numbered = [{"Id": str(number), **entry} for number, entry in enumerate(entries)]
        return self.sns.publish_batch(TopicArn=self.arn, PublishBatchRequestEntries=numbered)

    def received(self, url: str) -> list[dict[str, Any]]:
        answer = self.sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, MessageAttributeNames=["All"])
        messages: list[dict[str, Any]] = answer.get("Messages", [])
        return messages

    def bodies(self, url: str) -> list[str]:
        return [message["Body"] for message in self.received(url)]


@pytest.fixture
def topic(sns: Any, sqs: Any) -> Topic:
    return Topic(sns, sqs, sns.create_topic(Name="events")["TopicArn"])


def test_a_topic_is_made_once(sns: Any, topic: Topic) -> None:
    assert topic.arn == "arn:aws:sns:eu-west-1:123456789012:events"
    assert sns.create_topic(Name="events")["TopicArn"] == topic.arn


def test_raw_delivery_hands_on_the_message_and_its_attributes(topic: Topic) -> None:
    url = topic.queue("raw", RawMessageDelivery="true")

    topic.publish('{"amount": 2042500, "note": "₦"}', MessageAttributes=TYPE)

    (message,) = topic.received(url)
    assert message["Body"] == '{"amount": 2042500, "note": "₦"}'
    assert message["MessageAttributes"] == TYPE


def test_wrapped_delivery_hands_on_a_notification(topic: Topic) -> None:
    url = topic.queue("wrapped")

    sent = topic.publish("order", Subject="paid", MessageAttributes=TYPE)

    (message,) = topic.received(url)
    notification = json.loads(message["Body"])
    assert "MessageAttributes" not in message
    assert notification["Type"] == "Notification"
    assert notification["MessageId"] == sent["MessageId"]
    assert notification["TopicArn"] == topic.arn
    assert notification["Message"] == "order"
    assert notification["Subject"] == "paid"
    assert notification["MessageAttributes"] == {"type": {"Type": "String", "Value": "order.paid"}}


def test_a_notification_without_attributes_does_not_mention_them(topic: Topic) -> None:
    url = topic.queue("wrapped")

    topic.publish("order")

    assert "MessageAttributes" not in json.loads(topic.bodies(url)[0])


def test_every_subscriber_gets_its_own_message(topic: Topic) -> None:
    urls = [topic.queue(name, RawMessageDelivery="true") for name in ("receipts", "loyalty")]

    topic.publish("order")

    messages = [topic.received(url)[0] for url in urls]
    assert [message["Body"] for message in messages] == ["order", "order"]
    assert messages[0]["MessageId"] != messages[1]["MessageId"]


def test_subscribing_again_gives_the_same_subscription(topic: Topic) -> None:
    url = topic.queue("raw")

    arn = topic.subscribe(queue_arn(topic.sqs, url))
    topic.publish("order")

    assert arn == topic.subscribe(queue_arn(topic.sqs, url))
    assert len(topic.received(url)) == 1


@pytest.mark.moto_differs(reason="ignores queue policies", doc=ACCESS_DOC)
def test_a_queue_that_does_not_let_the_topic_in_gets_nothing(topic: Topic) -> None:
    url = topic.queue("closed", allowed=False)

    topic.publish("order")

    assert topic.received(url) == []


@pytest.mark.moto_differs(reason="ignores queue policies", doc=ACCESS_DOC)
def test_a_policy_that_names_another_topic_lets_this_one_not_in(topic: Topic) -> None:
    url = topic.queue("other", allowed=False)
    allow(topic.sqs, f"{topic.arn}-other", url)

    topic.publish("order")

    assert topic.received(url) == []


@pytest.mark.moto_differs(reason="ignores queue policies", doc=ACCESS_DOC)
def test_a_denial_beats_what_is_allowed(topic: Topic) -> None:
    url = topic.queue("torn")
    arn = queue_arn(topic.sqs, url)
    statements = [
        json.loads(send_policy(topic.arn, arn, effect))["Statement"][0] for effect in ("Allow", "Deny")
    ]
    policy = json.dumps({"Version": "2012-10-17", "Statement": statements})
    topic.sqs.set_queue_attributes(QueueUrl=url, Attributes={"Policy": policy})

    topic.publish("order")

    assert topic.received(url) == []


def test_a_policy_may_demand_encrypted_transport(topic: Topic) -> None:
    url = topic.queue("encrypted", RawMessageDelivery="true")
    arn = queue_arn(topic.sqs, url)
    refusal = {
        "Effect": "Deny",
        "Principal": "*",
        "Action": "sqs:*",
        "Resource": arn,
        "Condition": {"Bool": {"aws:SecureTransport": "false"}},
    }
    policy = json.loads(send_policy(topic.arn, arn))
    policy["Statement"].append(refusal)
    topic.sqs.set_queue_attributes(QueueUrl=url, Attributes={"Policy": json.dumps(policy)})

    topic.publish("order")

    assert topic.bodies(url) == ["order"]


@pytest.mark.moto_differs(reason="knows no dead-letter queues of subscriptions", doc=DEAD_LETTER_DOC)
def test_what_cannot_be_delivered_goes_to_the_subscriptions_dead_letter_queue(topic: Topic) -> None:
    dead = create_queue(topic.sqs, "undelivered")
    allow(topic.sqs, topic.arn, dead)
    redrive = json.dumps({"deadLetterTargetArn": queue_arn(topic.sqs, dead)})
    topic.queue("closed", allowed=False, RawMessageDelivery="true", RedrivePolicy=redrive)

    topic.publish("order", MessageAttributes=TYPE)

    (message,) = topic.received(dead)
    assert message["Body"] == "order"
    assert message["MessageAttributes"] == TYPE


def test_a_subscriptions_attributes_can_be_changed(topic: Topic) -> None:
    url = topic.queue("raw")
    arn = topic.subscribe(queue_arn(topic.sqs, url))

    topic.sns.set_subscription_attributes(
        SubscriptionArn=arn, AttributeName="RawMessageDelivery", AttributeValue="true"
    )
    topic.publish("order")

    assert topic.bodies(url) == ["order"]


def test_a_batch_publishes_each_entry_with_its_attributes(topic: Topic) -> None:
    url = topic.queue("raw", RawMessageDelivery="true")

    answer = topic.publish_batch(
        *({"Message": f"order {number}", "MessageAttributes": TYPE} for number in range(10))
    )

    assert [entry["Id"] for entry in answer["Successful"]] == [str(number) for number in range(10)]
    assert sorted(topic.bodies(url)) == [f"order {number}" for number in range(10)]


@pytest.mark.moto_differs(reason="refuses the whole batch", doc=BATCH_DOC)
def test_a_bad_entry_fails_alone(topic: Topic) -> None:
    url = topic.queue("raw", RawMessageDelivery="true")
    empty = {"type": {"DataType": "String", "StringValue": ""}}

    answer = topic.publish_batch({"Message": "good"}, {"Message": "bad", "MessageAttributes": empty})

    assert [entry["Id"] for entry in answer["Successful"]] == ["0"]
    assert [(entry["Id"], entry["SenderFault"]) for entry in answer["Failed"]] == [("1", True)]
    assert topic.bodies(url) == ["good"]


@pytest.mark.parametrize(
    ("ids", "code"),
    [
        ([str(number) for number in range(11)], "TooManyEntriesInBatchRequest"),
        (["a", "a"], "BatchEntryIdsNotDistinct"),
        pytest.param([], "EmptyBatchRequest", id="odd-empty"),
        pytest.param(["not an id"], "InvalidBatchEntryId", id="odd-id"),
    ],
)
@pytest.mark.moto_differs(reason="takes an empty batch and any id", doc=BATCH_DOC, of="odd")
def test_a_batch_wrong_as_a_whole_is_refused(topic: Topic, ids: list[str], code: str) -> None:
    entries = [{"Id": one, "Message": "order"} for one in ids]

    with refused(code):
        topic.sns.publish_batch(TopicArn=topic.arn, PublishBatchRequestEntries=entries)


@pytest.mark.moto_differs(reason="bounds each message alone", doc=BATCH_DOC)
def test_a_batch_shares_the_topics_limit(topic: Topic) -> None:
    half = "x" * (DEFAULT_LIMIT // 2)
    topic.publish_batch({"Message": half}, {"Message": half})

    with refused("BatchRequestTooLong"):
        topic.publish_batch({"Message": half}, {"Message": half + "x"})


def test_a_message_at_the_topics_limit_is_taken_and_one_above_refused(topic: Topic) -> None:
    topic.publish("x" * DEFAULT_LIMIT)

    with refused("InvalidParameter"):
        topic.publish("x" * (DEFAULT_LIMIT + 1))


@pytest.mark.parametrize(
    ("message", "attributes"),
    [
        pytest.param("é" * 150_000, {}, id="SNS-1-bytes"),
        pytest.param("x" * (DEFAULT_LIMIT - 1), TYPE, id="attributes"),
    ],
)
@pytest.mark.moto_differs(reason="counts neither bytes nor attributes", doc=PUBLISH_DOC)
def test_bytes_and_attributes_count(topic: Topic, message: str, attributes: dict[str, Any]) -> None:
    with refused("InvalidParameter"):
        topic.publish(message, MessageAttributes=attributes)


@pytest.mark.moto_differs(
    reason="knows no limit of a topic's own",
    doc="https://docs.aws.amazon.com/sns/latest/api/API_SetTopicAttributes.html",
)
def test_a_topics_limit_can_be_raised(sns: Any, sqs: Any) -> None:
    arn = sns.create_topic(Name="large", Attributes={"MaximumMessageSize": "1048576"})["TopicArn"]
    topic = Topic(sns, sqs, arn)
    url = topic.queue("raw", RawMessageDelivery="true")

    topic.publish("x" * 300_000)

    assert len(topic.bodies(url)[0]) == 300_000


@pytest.mark.parametrize("message", ["", "A\x00B", "\ufffe"], ids=ascii)
@pytest.mark.moto_differs(reason="takes any text", doc=PUBLISH_DOC)
def test_what_xml_cannot_hold_is_refused(topic: Topic, message: str) -> None:
    with refused("InvalidParameter"):
        topic.publish(message)


@pytest.mark.parametrize(
    "call",
    [
        lambda topic: topic.sns.publish(TopicArn=f"{topic.arn}-no", Message="order"),
        lambda topic: topic.sns.subscribe(
            TopicArn=f"{topic.arn}-no", Protocol="sqs", Endpoint="arn:aws:sqs:x:y:z"
        ),
    ],
    ids=["publish", "subscribe"],
)
def test_a_topic_that_does_not_exist_is_told(topic: Topic, call: Callable[[Topic], Any]) -> None:
    with refused("NotFound"):
        call(topic)


def test_an_sms_needs_no_topic_and_a_repeat_is_another(topic: Topic) -> None:
    first, second = (topic.sns.publish(PhoneNumber="+2348012345678", Message="hello") for _ in range(2))

    assert first["MessageId"] != second["MessageId"]


def test_what_is_no_number_gets_no_sms(topic: Topic) -> None:
    with refused("InvalidParameter"):
        topic.sns.publish(PhoneNumber="080-1", Message="hello")
