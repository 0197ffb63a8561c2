"""What a message may hold, and what comes with it.

https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessage.html
"""

import hashlib
from collections.abc import Callable
from typing import Any

import pytest

from tests.contract.backends import START, Backend
from tests.contract.builders import create_queue, queue_arn, refused

Receive = Callable[..., list[dict[str, Any]]]

QUOTAS_DOC = "https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-messages.html"
METADATA_DOC = (
    "https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-message-metadata.html"
)
SEND_DOC = "https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessage.html"
ATTRIBUTES_DOC = (
    "https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SetQueueAttributes.html"
)
MIB = 1_048_576


def test_a_message_arrives_as_it_was_sent(sqs: Any, queue: str, receive: Receive) -> None:
    attributes = {
        "type": {"DataType": "String", "StringValue": "order.paid"},
        "amount": {"DataType": "Number", "StringValue": "2042500"},
        "raw": {"DataType": "Binary", "BinaryValue": b"\x00\xff"},
    }
    sent = sqs.send_message(QueueUrl=queue, MessageBody="₦20,425 \U0001f4e6", MessageAttributes=attributes)

    (message,) = receive()

    assert message["Body"] == "₦20,425 \U0001f4e6"
    assert message["MessageAttributes"] == attributes
    assert message["MessageId"] == sent["MessageId"]
    assert message["MD5OfBody"] == hashlib.md5("₦20,425 \U0001f4e6".encode()).hexdigest()
    assert message["MD5OfMessageAttributes"] == sent["MD5OfMessageAttributes"]


def test_the_digest_of_attributes_is_the_one_that_sdks_compute(sqs: Any, queue: str) -> None:
    attributes = {"type": {"DataType": "String", "StringValue": "order.paid"}}

    sent = sqs.send_message(QueueUrl=queue, MessageBody="order", MessageAttributes=attributes)

    parts = [b"type", b"String", b"order.paid"]
    encoded = [len(part).to_bytes(4, "big") + part for part in parts]
    expected = hashlib.md5(encoded[0] + encoded[1] + b"\x01" + encoded[2]).hexdigest()
    assert sent["MD5OfMessageAttributes"] == expected


def test_a_message_tells_when_it_was_sent_and_first_received(
    backend: Backend, sqs: Any, queue: str, receive: Receive
) -> None:
    sqs.send_message(QueueUrl=queue, MessageBody="order")
    backend.advance(5)
    receive()
    backend.advance(30)

    (message,) = receive()

    assert message["Attributes"]["SentTimestamp"] == str(int(START * 1000))
    assert message["Attributes"]["ApproximateFirstReceiveTimestamp"] == str(int((START + 5) * 1000))
    assert message["Attributes"]["ApproximateReceiveCount"] == "2"


def test_a_trace_header_comes_along(sqs: Any, queue: str, receive: Receive) -> None:
    trace = {
        "AWSTraceHeader": {"DataType": "String", "StringValue": "Root=1-5759e988-bd862e3fe1be46a994272793"}
    }
    sqs.send_message(QueueUrl=queue, MessageBody="order", MessageSystemAttributes=trace)

    (message,) = receive()

    assert message["Attributes"]["AWSTraceHeader"] == "Root=1-5759e988-bd862e3fe1be46a994272793"


def test_attributes_come_only_when_asked_for(sqs: Any, queue: str) -> None:
    attributes = {
        name: {"DataType": "String", "StringValue": "x"} for name in ("type", "trace.id", "trace.span")
    }
    sqs.send_message(QueueUrl=queue, MessageBody="order", MessageAttributes=attributes)

    def names(*asked: str) -> set[str]:
        answer = sqs.receive_message(QueueUrl=queue, MessageAttributeNames=list(asked), VisibilityTimeout=0)
        return set(answer["Messages"][0].get("MessageAttributes", {}))

    assert names() == set()
    assert names("type") == {"type"}
    assert names("trace.*") == {"trace.id", "trace.span"}
    assert names("All") == set(attributes)


@pytest.mark.parametrize("body", ["A\x00B", "\x0b", "\ufffe", "\uffff", "\x1f"], ids=ascii)
@pytest.mark.moto_differs(reason="takes any character", doc=QUOTAS_DOC)
def test_characters_outside_the_xml_set_are_refused(sqs: Any, queue: str, body: str) -> None:
    with refused("InvalidMessageContents"):
        sqs.send_message(QueueUrl=queue, MessageBody=body)


def test_tabs_and_line_ends_are_characters_like_others(sqs: Any, queue: str, receive: Receive) -> None:
    sqs.send_message(QueueUrl=queue, MessageBody="a\tb\nc\rd")

    assert receive()[0]["Body"] == "a\tb\nc\rd"


@pytest.mark.moto_differs(reason="takes an empty body", doc=QUOTAS_DOC)
def test_an_empty_body_is_refused(sqs: Any, queue: str) -> None:
    with refused("MissingParameter", "InvalidParameterValue"):
        sqs.send_message(QueueUrl=queue, MessageBody="")


@pytest.mark.moto_differs(reason="takes an empty value", doc=METADATA_DOC)
def test_an_empty_attribute_value_is_refused(sqs: Any, queue: str) -> None:
    with refused("InvalidParameterValue"):
        sqs.send_message(
            QueueUrl=queue,
            MessageBody="order",
            MessageAttributes={"coupon": {"DataType": "String", "StringValue": ""}},
        )


@pytest.mark.moto_differs(reason="takes any number of attributes", doc=QUOTAS_DOC)
def test_more_than_ten_attributes_are_refused(sqs: Any, queue: str) -> None:
    attributes = {f"a{number}": {"DataType": "String", "StringValue": "x"} for number in range(11)}

    with refused("InvalidParameterValue"):
        sqs.send_message(QueueUrl=queue, MessageBody="order", MessageAttributes=attributes)


def test_a_message_of_one_mebibyte_is_taken(sqs: Any, queue: str) -> None:
    sqs.send_message(QueueUrl=queue, MessageBody="x" * MIB)


def test_a_message_over_one_mebibyte_is_refused(sqs: Any, queue: str) -> None:
    with refused("InvalidParameterValue"):
        sqs.send_message(QueueUrl=queue, MessageBody="x" * (MIB + 1))


@pytest.mark.moto_differs(reason="counts characters", doc=QUOTAS_DOC)
def test_size_is_counted_in_bytes(sqs: Any, queue: str) -> None:
    with refused("InvalidParameterValue"):
        sqs.send_message(QueueUrl=queue, MessageBody="é" * (MIB // 2 + 1))


def test_a_queue_may_take_less(sqs: Any) -> None:
    url = create_queue(sqs, "small", MaximumMessageSize="1024")

    with refused("InvalidParameterValue"):
        sqs.send_message(QueueUrl=url, MessageBody="x" * 1025)


@pytest.mark.parametrize("seconds", [-1, 901])
@pytest.mark.moto_differs(reason="has no lower bound", doc=SEND_DOC, of="-1")
def test_a_delay_is_at_most_fifteen_minutes(sqs: Any, queue: str, seconds: int) -> None:
    with refused("InvalidParameterValue"):
        sqs.send_message(QueueUrl=queue, MessageBody="order", DelaySeconds=seconds)


def test_a_queue_that_does_not_exist_is_told(sqs: Any) -> None:
    with refused("AWS.SimpleQueueService.NonExistentQueue"):
        sqs.get_queue_url(QueueName="nowhere")

    with pytest.raises(sqs.exceptions.QueueDoesNotExist):
        sqs.send_message(QueueUrl="https://sqs.eu-west-1.amazonaws.com/123456789012/no", MessageBody="order")


def test_a_queue_is_found_by_name_and_made_once(sqs: Any, queue: str) -> None:
    assert sqs.get_queue_url(QueueName="work")["QueueUrl"] == queue
    assert create_queue(sqs, "work") == queue
    assert queue_arn(sqs, queue) == "arn:aws:sqs:eu-west-1:123456789012:work"


def test_the_same_name_with_other_attributes_is_refused(sqs: Any, queue: str) -> None:
    with pytest.raises(sqs.exceptions.QueueNameExists):
        create_queue(sqs, "work", VisibilityTimeout="31")


@pytest.mark.parametrize(
    ("name", "value"),
    [("VisibilityTimeout", "43201"), ("MessageRetentionPeriod", "59"), ("DelaySeconds", "901")],
)
@pytest.mark.moto_differs(reason="takes values out of bounds", doc=ATTRIBUTES_DOC)
def test_attributes_are_bounded(sqs: Any, queue: str, name: str, value: str) -> None:
    with refused("InvalidAttributeValue"):
        sqs.set_queue_attributes(QueueUrl=queue, Attributes={name: value})


@pytest.mark.moto_differs(reason="keeps attributes that nobody knows", doc=ATTRIBUTES_DOC)
def test_an_unknown_attribute_is_refused(sqs: Any, queue: str) -> None:
    with refused("InvalidAttributeName"):
        sqs.set_queue_attributes(QueueUrl=queue, Attributes={"Colour": "blue"})
