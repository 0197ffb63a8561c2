"""FIFO topics: the order and the ids that queues get, and what is published twice within five minutes.

https://docs.aws.amazon.com/sns/latest/dg/sns-fifo-topics.html
"""

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.contract.backends import Backend
from tests.contract.builders import allow, create_queue, queue_arn, refused

GUIDE = "https://docs.aws.amazon.com/sns/latest/dg"
GROUPING_DOC = f"{GUIDE}/fifo-message-grouping.html"
DEDUPLICATION_DOC = f"{GUIDE}/fifo-message-dedup.html"
DEAD_LETTER_DOC = f"{GUIDE}/sns-dead-letter-queues.html"
PUBLISH_DOC = "https://docs.aws.amazon.com/sns/latest/api/API_Publish.html"
RAW = {"RawMessageDelivery": "true"}
Publish = Callable[..., dict[str, Any]]


@pytest.fixture
def topic(sns: Any) -> str:
    return fifo_topic(sns)


@pytest.fixture
def publish(sns: Any, topic: str) -> Publish:
    """Publish to the group that the message's first letter names, under an id of its own."""

    def publish(message: str, **more: Any) -> dict[str, Any]:
        ids = {"MessageGroupId": message[0], "MessageDeduplicationId": message}
        answer: dict[str, Any] = sns.publish(TopicArn=topic, Message=message, **{**ids, **more})
        return answer

    return publish


def fifo_topic(sns: Any, **attributes: str) -> str:
    arn: str = sns.create_topic(Name="events.fifo", Attributes={"FifoTopic": "true", **attributes})[
        "TopicArn"
    ]
    return arn


def subscribed(sns: Any, sqs: Any, topic: str, name: str, **attributes: str) -> str:
    """The URL of a new queue that gets the topic's messages."""
    url = create_queue(sqs, name, **({"FifoQueue": "true"} if name.endswith(".fifo") else {}))
    allow(sqs, topic, url)
    sns.subscribe(
        TopicArn=topic, Protocol="sqs", Endpoint=queue_arn(sqs, url), Attributes={**RAW, **attributes}
    )
    return url


def received(sqs: Any, url: str) -> list[dict[str, Any]]:
    answer = sqs.receive_message(
        QueueUrl=url, MaxNumberOfMessages=10, MessageSystemAttributeNames=["All"], VisibilityTimeout=0
    )
    messages: list[dict[str, Any]] = answer.get("Messages", [])
    return messages


def bodies(sqs: Any, url: str) -> list[str]:
    return [message["Body"] for message in received(sqs, url)]


def test_every_queue_gets_the_order_the_groups_and_the_ids(
    sns: Any, sqs: Any, topic: str, publish: Publish
) -> None:
    urls = [subscribed(sns, sqs, topic, name) for name in ("one.fifo", "two.fifo")]

    for message in ("a1", "a2", "a3"):
        publish(message)

    for url in urls:
        messages = received(sqs, url)
        assert [message["Body"] for message in messages] == ["a1", "a2", "a3"]
        assert {message["Attributes"]["MessageGroupId"] for message in messages} == {"a"}
        ids = [message["Attributes"]["MessageDeduplicationId"] for message in messages]
        assert ids == ["a1", "a2", "a3"]


@pytest.mark.moto_differs(reason="tells none", doc=PUBLISH_DOC)
def test_a_publish_is_answered_with_a_growing_number(publish: Publish) -> None:
    first, second = publish("a1"), publish("a2")

    assert int(first["SequenceNumber"]) < int(second["SequenceNumber"])


def test_a_batch_keeps_its_order(sns: Any, sqs: Any, topic: str) -> None:
    url = subscribed(sns, sqs, topic, "one.fifo")
    entries = [
        {"Id": str(one), "Message": f"a{one}", "MessageGroupId": "a", "MessageDeduplicationId": str(one)}
        for one in range(10)
    ]

    sns.publish_batch(TopicArn=topic, PublishBatchRequestEntries=entries)

    assert bodies(sqs, url) == [f"a{one}" for one in range(10)]


@pytest.mark.moto_differs(reason="refuses the whole batch", doc=PUBLISH_DOC)
def test_an_entry_without_a_group_fails_alone(sns: Any, sqs: Any, topic: str) -> None:
    url = subscribed(sns, sqs, topic, "one.fifo")
    entries = [
        {"Id": "0", "Message": "a0", "MessageGroupId": "a", "MessageDeduplicationId": "0"},
        {"Id": "1", "Message": "a1", "MessageDeduplicationId": "1"},
    ]

    answer = sns.publish_batch(TopicArn=topic, PublishBatchRequestEntries=entries)

    assert [entry["Id"] for entry in answer["Failed"]] == ["1"]
    assert bodies(sqs, url) == ["a0"]


def test_a_filter_lets_through_what_a_subscriber_wants(
    sns: Any, sqs: Any, topic: str, publish: Publish
) -> None:
    url = subscribed(sns, sqs, topic, "one.fifo", FilterPolicy=json.dumps({"type": ["order.paid"]}))

    for message, kind in (("a1", "order.paid"), ("a2", "order.shipped"), ("a3", "order.paid")):
        publish(message, MessageAttributes={"type": {"DataType": "String", "StringValue": kind}})

    assert bodies(sqs, url) == ["a1", "a3"]


@pytest.mark.moto_differs(reason="passes the group on", doc=GROUPING_DOC)
def test_a_standard_queue_gets_the_messages_without_groups(
    sns: Any, sqs: Any, topic: str, publish: Publish
) -> None:
    url = subscribed(sns, sqs, topic, "standard")

    publish("a1")

    (message,) = received(sqs, url)
    assert message["Body"] == "a1"
    assert not {"MessageGroupId", "MessageDeduplicationId"} & set(message["Attributes"])


def test_what_is_published_twice_is_delivered_once(sns: Any, sqs: Any, topic: str, publish: Publish) -> None:
    url = subscribed(sns, sqs, topic, "one.fifo")

    publish("a1")
    publish("another", MessageGroupId="b", MessageDeduplicationId="a1")

    assert bodies(sqs, url) == ["a1"]


@pytest.mark.moto_differs(reason="leaves it to the queues", doc=DEDUPLICATION_DOC)
def test_a_topic_deduplicates_for_standard_queues_too_and_for_exactly_five_minutes(
    backend: Backend, sns: Any, sqs: Any, topic: str, publish: Publish
) -> None:
    url = subscribed(sns, sqs, topic, "standard")
    publish("a1")

    backend.advance(299.999)
    publish("a1")
    assert len(bodies(sqs, url)) == 1
    backend.advance(0.001)
    publish("a1")

    assert len(bodies(sqs, url)) == 2


def test_a_topic_may_take_equal_messages_for_the_same(sns: Any, sqs: Any) -> None:
    topic = fifo_topic(sns, ContentBasedDeduplication="true")
    url = subscribed(sns, sqs, topic, "standard.fifo")
    sqs.set_queue_attributes(QueueUrl=url, Attributes={"ContentBasedDeduplication": "true"})

    for _ in range(2):
        sns.publish(TopicArn=topic, Message="same", MessageGroupId="a")

    assert bodies(sqs, url) == ["same"]


@pytest.mark.parametrize(
    "ids",
    [
        pytest.param({"MessageDeduplicationId": "1"}, id="no-group"),
        pytest.param({"MessageGroupId": "a"}, id="no-deduplication-id"),
        pytest.param({"MessageGroupId": "two words", "MessageDeduplicationId": "1"}, id="odd-group"),
        pytest.param({"MessageGroupId": "x" * 129, "MessageDeduplicationId": "1"}, id="odd-length"),
    ],
)
@pytest.mark.moto_differs(reason="takes any text as an id", doc=PUBLISH_DOC, of="odd")
def test_ids_that_are_missing_or_malformed_are_refused(sns: Any, topic: str, ids: dict[str, str]) -> None:
    with refused("InvalidParameter", "MissingParameter"):
        sns.publish(TopicArn=topic, Message="order", **ids)


@pytest.mark.parametrize(
    ("name", "attributes"),
    [
        ("events", {"FifoTopic": "true"}),
        ("events.fifo", {}),
        pytest.param(f"{'x' * 252}.fifo", {"FifoTopic": "true"}, id="odd-length"),
    ],
)
@pytest.mark.moto_differs(reason="does not count the ending", doc=PUBLISH_DOC, of="odd")
def test_a_topics_name_fits_its_type(sns: Any, name: str, attributes: dict[str, str]) -> None:
    with refused("InvalidParameter"):
        sns.create_topic(Name=name, Attributes=attributes)


def test_a_fifo_queue_takes_from_fifo_topics_only(sns: Any, sqs: Any) -> None:
    topic = sns.create_topic(Name="events")["TopicArn"]

    with refused("InvalidParameter"):
        subscribed(sns, sqs, topic, "one.fifo")


@pytest.mark.moto_differs(reason="knows no dead-letter queues of subscriptions", doc=DEAD_LETTER_DOC)
def test_what_cannot_be_delivered_keeps_its_group_in_the_subscriptions_dead_letter_queue(
    sns: Any, sqs: Any, topic: str, publish: Publish
) -> None:
    dead = create_queue(sqs, "undelivered.fifo", FifoQueue="true")
    allow(sqs, topic, dead)
    redrive = json.dumps({"deadLetterTargetArn": queue_arn(sqs, dead)})
    url = subscribed(sns, sqs, topic, "closed.fifo", RedrivePolicy=redrive)
    sqs.set_queue_attributes(QueueUrl=url, Attributes={"Policy": ""})

    publish("a1")

    (message,) = received(sqs, dead)
    assert (message["Body"], message["Attributes"]["MessageGroupId"]) == ("a1", "a")


@pytest.mark.moto_differs(reason="does not look at the queue", doc=DEAD_LETTER_DOC)
def test_a_subscriptions_dead_letter_queue_is_of_the_topics_type(sns: Any, sqs: Any, topic: str) -> None:
    dead = queue_arn(sqs, create_queue(sqs, "undelivered"))

    with refused("InvalidParameter"):
        subscribed(sns, sqs, topic, "one.fifo", RedrivePolicy=json.dumps({"deadLetterTargetArn": dead}))


def test_a_standard_topic_passes_groups_on_to_standard_queues(sns: Any, sqs: Any) -> None:
    """For fairness there: docs.aws.amazon.com/sns/latest/api/API_Publish.html"""
    topic = sns.create_topic(Name="events")["TopicArn"]
    url = subscribed(sns, sqs, topic, "standard")

    sns.publish(TopicArn=topic, Message="order", MessageGroupId="tenant-1")

    (message,) = received(sqs, url)
    assert message["Attributes"]["MessageGroupId"] == "tenant-1"
    with refused("InvalidParameter"):
        sns.publish(TopicArn=topic, Message="order", MessageDeduplicationId="1")
