"""Message groups on standard queues, which take turns; and batches of messages sent.

https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-fair-queues.html
"""

from collections.abc import Callable
from typing import Any

import pytest

from tests.contract.backends import Backend, Model
from tests.contract.builders import create_queue, refused

Receive = Callable[..., list[dict[str, Any]]]

FAIR_DOC = "https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-fair-queues.html"
SEND_DOC = "https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessage.html"
BATCH_DOC = "https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessageBatch.html"
MIB = 1_048_576


def send(sqs: Any, url: str, *bodies: str, group: str | None = None) -> None:
    more = {} if group is None else {"MessageGroupId": group}
    for body in bodies:
        sqs.send_message(QueueUrl=url, MessageBody=body, **more)


def entries(*bodies: str) -> list[dict[str, Any]]:
    return [{"Id": str(number), "MessageBody": body} for number, body in enumerate(bodies)]


def test_a_group_comes_along(sqs: Any, queue: str, receive: Receive) -> None:
    send(sqs, queue, "grouped", group="tenant-1")
    send(sqs, queue, "alone")

    by_body = {message["Body"]: message["Attributes"] for message in receive()}

    assert by_body["grouped"]["MessageGroupId"] == "tenant-1"
    assert not {"MessageDeduplicationId", "SequenceNumber"} & set(by_body["grouped"])
    assert "MessageGroupId" not in by_body["alone"]


def test_messages_of_one_group_may_be_in_flight_together(sqs: Any, queue: str, receive: Receive) -> None:
    send(sqs, queue, "1", "2", group="tenant-1")

    batches = [receive(MaxNumberOfMessages=1) for _ in range(2)]

    assert [len(batch) for batch in batches] == [1, 1]


@pytest.mark.moto_differs(reason="takes any text as a group", doc=SEND_DOC)
def test_a_group_that_is_none_is_refused(sqs: Any, queue: str) -> None:
    with refused("InvalidParameterValue"):
        send(sqs, queue, "x", group="two words")


@pytest.mark.moto_differs(reason="lets it pass", doc=SEND_DOC)
def test_a_deduplication_id_is_for_fifo_queues(sqs: Any, queue: str) -> None:
    with refused("InvalidParameterValue"):
        sqs.send_message(QueueUrl=queue, MessageBody="x", MessageDeduplicationId="1")


@pytest.mark.moto_differs(reason="knows no fairness", doc=FAIR_DOC)
def test_a_noisy_tenant_does_not_keep_a_quiet_one_waiting(sqs: Any, queue: str, receive: Receive) -> None:
    send(sqs, queue, *(f"noisy {number}" for number in range(100)), group="noisy")
    send(sqs, queue, "quiet", group="quiet")
    send(sqs, queue, "alone")

    first = {message["Body"] for message in receive()}

    assert {"quiet", "alone"} < first


def test_a_tenants_own_messages_keep_their_order(model: Model) -> None:
    sqs = model.client("sqs")
    queue = create_queue(sqs, "work")
    send(sqs, queue, "a1", "a2", "a3", group="a")
    send(sqs, queue, "b1", "b2", group="b")

    received = sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10)["Messages"]

    assert [message["Body"] for message in received] == ["a1", "b1", "a2", "b2", "a3"]


def test_what_is_due_again_waits_for_its_tenants_turn(model: Model) -> None:
    sqs = model.client("sqs")
    queue = create_queue(sqs, "work")
    send(sqs, queue, "a1", group="a")
    sqs.receive_message(QueueUrl=queue)
    send(sqs, queue, "a2", group="a")
    model.advance(30)

    received = sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10)["Messages"]

    assert [message["Body"] for message in received] == ["a2", "a1"]


def test_a_batch_sends_each_entry(sqs: Any, queue: str, receive: Receive) -> None:
    answer = sqs.send_message_batch(QueueUrl=queue, Entries=entries("a", "b"))

    assert [entry["Id"] for entry in answer["Successful"]] == ["0", "1"]
    assert {message["Body"]: message["MessageId"] for message in receive()} == {
        "a": answer["Successful"][0]["MessageId"],
        "b": answer["Successful"][1]["MessageId"],
    }


@pytest.mark.moto_differs(reason="takes any text", doc=BATCH_DOC)
def test_a_bad_entry_fails_alone(sqs: Any, queue: str, receive: Receive) -> None:
    answer = sqs.send_message_batch(QueueUrl=queue, Entries=entries("good", "A\x00B"))

    assert [entry["Id"] for entry in answer["Successful"]] == ["0"]
    assert [(entry["Id"], entry["SenderFault"]) for entry in answer["Failed"]] == [("1", True)]
    assert [message["Body"] for message in receive()] == ["good"]


def test_a_batch_has_the_size_of_one_message(sqs: Any, queue: str) -> None:
    sqs.send_message_batch(QueueUrl=queue, Entries=entries("x" * (MIB // 2), "x" * (MIB // 2)))

    with refused("AWS.SimpleQueueService.BatchRequestTooLong"):
        sqs.send_message_batch(QueueUrl=queue, Entries=entries("x" * (MIB // 2), "x" * (MIB // 2 + 1)))


def test_entries_may_be_delayed_each_by_itself(backend: Backend, sqs: Any, queue: str) -> None:
    later, now = entries("later", "now")
    sqs.send_message_batch(QueueUrl=queue, Entries=[{**later, "DelaySeconds": 60}, now])

    def bodies() -> list[str]:
        answer = sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10)
        return [message["Body"] for message in answer.get("Messages", [])]

    assert bodies() == ["now"]
    backend.advance(60)
    assert "later" in bodies()


def test_a_batch_may_be_sent_in_part(model: Model) -> None:
    sqs = model.client("sqs")
    queue = create_queue(sqs, "work")
    model.aws.switches.partial("sqs", "SendMessageBatch")

    answer = sqs.send_message_batch(QueueUrl=queue, Entries=entries("0", "1", "2"))

    assert [entry["Id"] for entry in answer["Successful"]] == ["0", "2"]
    assert [(entry["Id"], entry["SenderFault"]) for entry in answer["Failed"]] == [("1", False)]
