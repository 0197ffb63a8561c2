"""A message is leased, not taken.

https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-visibility-timeout.html
"""

from collections.abc import Callable
from typing import Any

import pytest

from tests.contract.backends import Backend
from tests.contract.builders import create_queue, refused

Receive = Callable[..., list[dict[str, Any]]]

DELETE_DOC = "https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_DeleteMessage.html"
VISIBILITY_DOC = (
    "https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_ChangeMessageVisibility.html"
)


def test_a_leased_message_is_claimable_exactly_when_its_lease_ends(
    backend: Backend, sqs: Any, queue: str, receive: Receive
) -> None:
    sqs.send_message(QueueUrl=queue, MessageBody="order")
    assert len(receive()) == 1

    backend.advance(29.999)
    assert receive() == []
    backend.advance(0.001)
    (again,) = receive()

    assert again["Attributes"]["ApproximateReceiveCount"] == "2"


def test_a_receive_may_ask_for_a_lease_of_its_own(
    backend: Backend, sqs: Any, queue: str, receive: Receive
) -> None:
    sqs.send_message(QueueUrl=queue, MessageBody="order")
    receive(VisibilityTimeout=5)

    backend.advance(5)

    assert len(receive()) == 1


def test_a_lease_of_nothing_leaves_the_message_claimable(sqs: Any, queue: str, receive: Receive) -> None:
    sqs.send_message(QueueUrl=queue, MessageBody="order")
    receive(VisibilityTimeout=0)

    assert len(receive()) == 1


def test_a_deleted_message_never_comes_back(backend: Backend, sqs: Any, queue: str, receive: Receive) -> None:
    sqs.send_message(QueueUrl=queue, MessageBody="order")
    (message,) = receive()
    sqs.delete_message(QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"])

    backend.advance(3600)

    assert receive() == []


def test_deleting_twice_is_no_error(sqs: Any, queue: str, receive: Receive) -> None:
    sqs.send_message(QueueUrl=queue, MessageBody="order")
    (message,) = receive()

    for _ in range(2):
        sqs.delete_message(QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"])


def test_the_latest_handle_deletes_even_after_its_lease_has_ended(
    backend: Backend, sqs: Any, queue: str, receive: Receive
) -> None:
    sqs.send_message(QueueUrl=queue, MessageBody="order")
    (message,) = receive()
    backend.advance(31)

    sqs.delete_message(QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"])

    assert receive() == []


def test_every_receive_gives_another_handle(backend: Backend, sqs: Any, queue: str, receive: Receive) -> None:
    sqs.send_message(QueueUrl=queue, MessageBody="order")
    (first,) = receive()
    backend.advance(30)
    (second,) = receive()

    assert first["MessageId"] == second["MessageId"]
    assert first["ReceiptHandle"] != second["ReceiptHandle"]


@pytest.mark.moto_differs(reason="deletes by any handle it ever gave out", doc=DELETE_DOC)
def test_a_handle_that_was_replaced_deletes_nothing_and_is_no_error(
    backend: Backend, sqs: Any, queue: str, receive: Receive
) -> None:
    sqs.send_message(QueueUrl=queue, MessageBody="order")
    (first,) = receive()
    backend.advance(30)
    receive()

    sqs.delete_message(QueueUrl=queue, ReceiptHandle=first["ReceiptHandle"])
    backend.advance(30)

    assert len(receive()) == 1


def test_visibility_can_be_given_back_at_once(sqs: Any, queue: str, receive: Receive) -> None:
    sqs.send_message(QueueUrl=queue, MessageBody="order")
    (message,) = receive()

    sqs.change_message_visibility(QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"], VisibilityTimeout=0)

    assert len(receive()) == 1


def test_visibility_counts_from_the_change(backend: Backend, sqs: Any, queue: str, receive: Receive) -> None:
    sqs.send_message(QueueUrl=queue, MessageBody="order")
    (message,) = receive()
    backend.advance(15)

    sqs.change_message_visibility(
        QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"], VisibilityTimeout=60
    )

    backend.advance(59.999)
    assert receive() == []
    backend.advance(0.001)
    assert len(receive()) == 1


def test_the_next_lease_is_the_queues_again(backend: Backend, sqs: Any, queue: str, receive: Receive) -> None:
    sqs.send_message(QueueUrl=queue, MessageBody="order")
    (message,) = receive()
    sqs.change_message_visibility(
        QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"], VisibilityTimeout=300
    )
    backend.advance(300)
    receive()

    backend.advance(30)

    assert len(receive()) == 1


@pytest.mark.moto_differs(reason="hides the message again", doc=VISIBILITY_DOC)
def test_the_visibility_of_a_message_not_in_flight_cannot_be_changed(
    backend: Backend, sqs: Any, queue: str, receive: Receive
) -> None:
    sqs.send_message(QueueUrl=queue, MessageBody="order")
    (message,) = receive()
    backend.advance(30)

    with refused("AWS.SimpleQueueService.MessageNotInflight"):
        sqs.change_message_visibility(
            QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"], VisibilityTimeout=5
        )


def test_an_unknown_handle_is_invalid(sqs: Any, queue: str) -> None:
    with refused("ReceiptHandleIsInvalid"):
        sqs.change_message_visibility(QueueUrl=queue, ReceiptHandle="nonsense", VisibilityTimeout=5)


@pytest.mark.parametrize("seconds", [-1, 43_201])
@pytest.mark.moto_differs(reason="has no lower bound", doc=VISIBILITY_DOC, of="-1")
def test_visibility_is_bounded(sqs: Any, queue: str, receive: Receive, seconds: int) -> None:
    sqs.send_message(QueueUrl=queue, MessageBody="order")
    (message,) = receive()

    with refused("InvalidParameterValue"):
        sqs.change_message_visibility(
            QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"], VisibilityTimeout=seconds
        )


def test_a_lease_never_exceeds_twelve_hours_from_the_receive(
    backend: Backend, sqs: Any, queue: str, receive: Receive
) -> None:
    sqs.send_message(QueueUrl=queue, MessageBody="order")
    (message,) = receive()
    backend.advance(10)

    with refused("InvalidParameterValue"):
        sqs.change_message_visibility(
            QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"], VisibilityTimeout=43_200
        )


def test_a_batch_of_visibility_changes_fails_entry_by_entry(sqs: Any, queue: str, receive: Receive) -> None:
    sqs.send_message(QueueUrl=queue, MessageBody="order")
    (message,) = receive()

    answer = sqs.change_message_visibility_batch(
        QueueUrl=queue,
        Entries=[
            {"Id": "0", "ReceiptHandle": message["ReceiptHandle"], "VisibilityTimeout": 0},
            {"Id": "1", "ReceiptHandle": "nonsense", "VisibilityTimeout": 0},
        ],
    )

    assert [entry["Id"] for entry in answer["Successful"]] == ["0"]
    assert [(entry["Id"], entry["SenderFault"]) for entry in answer["Failed"]] == [("1", True)]


@pytest.mark.parametrize(
    ("ids", "code"),
    [
        ([str(number) for number in range(11)], "AWS.SimpleQueueService.TooManyEntriesInBatchRequest"),
        (["a", "a"], "AWS.SimpleQueueService.BatchEntryIdsNotDistinct"),
        (["not an id"], "AWS.SimpleQueueService.InvalidBatchEntryId"),
        ([], "AWS.SimpleQueueService.EmptyBatchRequest"),
    ],
)
@pytest.mark.moto_differs(
    reason="checks only batches of messages sent",
    doc="https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/"
    "API_ChangeMessageVisibilityBatch.html",
)
def test_a_batch_wrong_as_a_whole_is_refused(sqs: Any, queue: str, ids: list[str], code: str) -> None:
    entries = [{"Id": one, "ReceiptHandle": "any", "VisibilityTimeout": 0} for one in ids]

    with refused(code):
        sqs.change_message_visibility_batch(QueueUrl=queue, Entries=entries)


def test_the_queue_counts_what_waits_what_is_in_flight_and_what_is_delayed(
    sqs: Any, queue: str, receive: Receive
) -> None:
    for body in "abc":
        sqs.send_message(QueueUrl=queue, MessageBody=body)
    sqs.send_message(QueueUrl=queue, MessageBody="d", DelaySeconds=60)
    receive(MaxNumberOfMessages=1)

    attributes = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["All"])["Attributes"]

    names = ("", "NotVisible", "Delayed")
    assert [attributes[f"ApproximateNumberOfMessages{name}"] for name in names] == ["2", "1", "1"]


def test_a_receive_takes_at_most_ten(sqs: Any, queue: str, receive: Receive) -> None:
    for _ in range(11):
        sqs.send_message(QueueUrl=queue, MessageBody="order")

    assert len(receive()) == 10
    with refused("InvalidParameterValue"):
        receive(MaxNumberOfMessages=11)


@pytest.mark.moto_differs(
    reason="waits for ever where time stands still",
    doc="https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/"
    "sqs-short-and-long-polling.html",
    run=False,
)
def test_a_long_poll_of_an_empty_queue_ends(sqs: Any, queue: str) -> None:
    assert "Messages" not in sqs.receive_message(QueueUrl=queue, WaitTimeSeconds=20)


def test_a_delayed_message_is_claimable_when_its_delay_ends(
    backend: Backend, sqs: Any, queue: str, receive: Receive
) -> None:
    sqs.send_message(QueueUrl=queue, MessageBody="reminder", DelaySeconds=600)

    backend.advance(599.999)
    assert receive() == []
    backend.advance(0.001)
    assert len(receive()) == 1


def test_a_queue_may_delay_everything(backend: Backend, sqs: Any) -> None:
    url = create_queue(sqs, "later", DelaySeconds="5")
    sqs.send_message(QueueUrl=url, MessageBody="reminder")

    assert "Messages" not in sqs.receive_message(QueueUrl=url)
    backend.advance(5)
    assert len(sqs.receive_message(QueueUrl=url)["Messages"]) == 1


def test_messages_are_kept_for_the_retention_period(backend: Backend, sqs: Any) -> None:
    url = create_queue(sqs, "short", MessageRetentionPeriod="60")
    sqs.send_message(QueueUrl=url, MessageBody="order")

    backend.advance(60.001)

    assert "Messages" not in sqs.receive_message(QueueUrl=url)
