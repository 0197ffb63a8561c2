"""SQS's own redrive: the only way into a dead-letter queue.

https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-dead-letter-queues.html
"""

import json
from typing import Any

import pytest

from tests.contract.backends import START, Backend
from tests.contract.builders import create_queue, queue_arn, refused

ATTRIBUTES_DOC = (
    "https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_ReceiveMessage.html"
)


@pytest.fixture
def dead(sqs: Any) -> str:
    return create_queue(sqs, "dead")


@pytest.fixture
def source(sqs: Any, dead: str) -> str:
    return create_queue(sqs, "source", RedrivePolicy=redrive(queue_arn(sqs, dead), 2))


def redrive(arn: str, max_receive_count: int) -> str:
    return json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": max_receive_count})


def receive(sqs: Any, url: str, visibility: int = 0) -> list[dict[str, Any]]:
    answer = sqs.receive_message(
        QueueUrl=url,
        MaxNumberOfMessages=10,
        VisibilityTimeout=visibility,
        MessageSystemAttributeNames=["All"],
        MessageAttributeNames=["All"],
    )
    messages: list[dict[str, Any]] = answer.get("Messages", [])
    return messages


def test_a_message_moves_when_a_receive_would_exceed_the_maximum(sqs: Any, source: str, dead: str) -> None:
    sqs.send_message(QueueUrl=source, MessageBody="poison")
    assert [len(receive(sqs, source)) for _ in range(2)] == [1, 1]

    assert receive(sqs, dead) == []
    assert receive(sqs, source) == []

    assert [message["Body"] for message in receive(sqs, dead)] == ["poison"]
    assert receive(sqs, source) == []


def test_giving_back_at_once_moves_it_without_waiting(sqs: Any, source: str, dead: str) -> None:
    sqs.send_message(QueueUrl=source, MessageBody="poison")
    for _ in range(2):
        (message,) = receive(sqs, source, visibility=30)
        sqs.change_message_visibility(
            QueueUrl=source, ReceiptHandle=message["ReceiptHandle"], VisibilityTimeout=0
        )

    receive(sqs, source)

    assert len(receive(sqs, dead)) == 1


def test_a_dead_letter_keeps_its_id_and_attributes(sqs: Any, source: str, dead: str) -> None:
    attributes = {"publication": {"DataType": "String", "StringValue": "p1"}}
    sent = sqs.send_message(QueueUrl=source, MessageBody="poison", MessageAttributes=attributes)
    for _ in range(3):
        receive(sqs, source)

    (message,) = receive(sqs, dead)

    assert message["MessageId"] == sent["MessageId"]
    assert message["MessageAttributes"] == attributes


@pytest.mark.moto_differs(reason="does not name the source", doc=ATTRIBUTES_DOC)
def test_a_dead_letter_names_its_source(sqs: Any, source: str, dead: str) -> None:
    sqs.send_message(QueueUrl=source, MessageBody="poison")
    for _ in range(3):
        receive(sqs, source)

    (message,) = receive(sqs, dead)

    assert message["Attributes"]["DeadLetterQueueSourceArn"] == queue_arn(sqs, source)


def test_a_dead_letter_is_as_old_as_its_first_send(
    backend: Backend, sqs: Any, source: str, dead: str
) -> None:
    sqs.send_message(QueueUrl=source, MessageBody="poison")
    backend.advance(100)
    for _ in range(3):
        receive(sqs, source)

    (message,) = receive(sqs, dead)

    assert message["Attributes"]["SentTimestamp"] == str(int(START * 1000))


def test_a_dead_letter_expires_counted_from_its_first_send(backend: Backend, sqs: Any) -> None:
    """docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/setting-up-dead-letter-queue-retention.html"""
    dead = create_queue(sqs, "brief", MessageRetentionPeriod="120")
    source = create_queue(sqs, "source", RedrivePolicy=redrive(queue_arn(sqs, dead), 1))
    sqs.send_message(QueueUrl=source, MessageBody="poison")
    backend.advance(100)
    for _ in range(2):
        receive(sqs, source)
    assert len(receive(sqs, dead)) == 1

    backend.advance(20)

    assert receive(sqs, dead) == []


def test_what_moves_takes_no_place_from_what_does_not(sqs: Any, source: str, dead: str) -> None:
    sqs.send_message(QueueUrl=source, MessageBody="poison")
    for _ in range(2):
        receive(sqs, source)
    sqs.send_message(QueueUrl=source, MessageBody="good")

    answer = sqs.receive_message(QueueUrl=source, MaxNumberOfMessages=1)

    assert [message["Body"] for message in answer["Messages"]] == ["good"]
    assert [message["Body"] for message in receive(sqs, dead)] == ["poison"]


def test_the_target_must_exist(sqs: Any) -> None:
    with refused("InvalidParameterValue", "AWS.SimpleQueueService.NonExistentQueue"):
        create_queue(sqs, "source", RedrivePolicy=redrive("arn:aws:sqs:eu-west-1:123456789012:none", 2))
