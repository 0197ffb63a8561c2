"""FIFO queues where only the model can be asked: move tasks, long backlogs, many threads."""

import json
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.contract.backends import START, Model
from tests.contract.builders import create_queue, queue_arn, refused


def fifo(sqs: Any, name: str, **attributes: str) -> str:
    return create_queue(sqs, name, FifoQueue="true", **attributes)


def send(sqs: Any, url: str, *bodies: str) -> None:
    for body in bodies:
        sqs.send_message(QueueUrl=url, MessageBody=body, MessageGroupId=body[0], MessageDeduplicationId=body)


def receive(sqs: Any, url: str, visibility: int = 0) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = sqs.receive_message(
        QueueUrl=url,
        MaxNumberOfMessages=10,
        VisibilityTimeout=visibility,
        MessageSystemAttributeNames=["All"],
    ).get("Messages", [])
    return messages


@pytest.fixture
def sqs(model: Model) -> Any:
    return model.client("sqs")


@pytest.fixture
def dead(sqs: Any) -> str:
    return fifo(sqs, "dead.fifo")


@pytest.fixture
def source(sqs: Any, dead: str) -> str:
    policy = json.dumps({"deadLetterTargetArn": queue_arn(sqs, dead), "maxReceiveCount": 1})
    return fifo(sqs, "source.fifo", RedrivePolicy=policy)


def test_a_move_task_takes_dead_letters_back_in_the_order_of_their_groups(
    model: Model, sqs: Any, source: str, dead: str
) -> None:
    send(sqs, source, "a1", "b1", "a2", "b2")
    while receive(sqs, source):
        pass
    send(sqs, source, "a3")

    sqs.start_message_move_task(SourceArn=queue_arn(sqs, dead))
    model.advance(1)

    by_group = defaultdict(list)
    for message in receive(sqs, source):
        by_group[message["Attributes"]["MessageGroupId"]].append(message["Body"])
    assert by_group == {"a": ["a3", "a1", "a2"], "b": ["b1", "b2"]}
    assert receive(sqs, dead) == []


def test_a_message_moved_back_is_new_and_may_die_again(
    model: Model, sqs: Any, source: str, dead: str
) -> None:
    """docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-configure-dead-letter-queue-redrive.html"""
    ids = set()
    send(sqs, source, "a1")
    for _ in range(3):
        while receive(sqs, source):
            pass
        (letter,) = receive(sqs, dead)
        ids.add(letter["MessageId"])
        sqs.start_message_move_task(SourceArn=queue_arn(sqs, dead))
        model.advance(1)

    (message,) = receive(sqs, source)
    assert message["Attributes"]["ApproximateReceiveCount"] == "1"
    assert message["Attributes"]["SentTimestamp"] == str(int((START + 3) * 1000))
    assert len(ids) == 3


def test_dead_letters_move_to_queues_of_their_type_only(sqs: Any, source: str, dead: str) -> None:
    standard = create_queue(sqs, "standard")

    with refused("InvalidParameterValue"):
        sqs.start_message_move_task(SourceArn=queue_arn(sqs, dead), DestinationArn=queue_arn(sqs, standard))


def test_the_next_due_group_is_known(model: Model, sqs: Any) -> None:
    url = fifo(sqs, "work.fifo")
    send(sqs, url, "a1", "a2")
    assert model.aws.next_due() is None

    receive(sqs, url, visibility=30)

    assert model.aws.next_due() == START + 30


def test_freedoms_of_standard_queues_are_not_taken(model: Model, sqs: Any) -> None:
    url = fifo(sqs, "work.fifo")
    model.aws.switches.reorder = True
    model.aws.switches.duplicate_delivery = 1.0
    sent = [f"a{number}" for number in range(10)]
    send(sqs, url, *sent)

    assert [message["Body"] for message in receive(sqs, url)] == sent
    assert len(model.aws.sqs.queue("work.fifo").messages) == 10


@pytest.mark.parametrize("groups", [1, 30_000])
def test_a_receive_does_not_search_the_backlog(model: Model, sqs: Any, groups: int) -> None:
    url = fifo(sqs, "work.fifo")
    for number in range(30_000):
        params = {
            "QueueUrl": url,
            "MessageBody": "x",
            "MessageGroupId": str(number % groups),
            "MessageDeduplicationId": str(number),
        }
        model.aws.request("sqs", "SendMessage", params)

    began = time.thread_time()
    received = set()
    for _ in range(20):
        for message in receive(sqs, url, visibility=30):
            received.add(message["MessageId"])
            sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
    seconds = time.thread_time() - began

    assert len(received) == 200
    assert seconds < 2


def test_eight_threads_keep_the_order_of_every_group(model: Model, sqs: Any) -> None:
    url = fifo(sqs, "work.fifo")
    sent = {group: [f"{group}{number}" for number in range(30)] for group in "abcd"}
    handled: dict[str, list[str]] = defaultdict(list)

    def consume() -> None:
        while messages := receive(sqs, url, visibility=30):
            for message in messages:
                handled[message["Body"][0]].append(message["Body"])
                sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])

    for bodies in sent.values():
        send(sqs, url, *bodies)
    with ThreadPoolExecutor(8) as pool:
        for consumer in [pool.submit(consume) for _ in range(8)]:
            consumer.result()
    consume()

    assert handled == sent
