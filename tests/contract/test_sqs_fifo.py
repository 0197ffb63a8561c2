"""FIFO queues: order within a group, one receiver a group, and what is sent twice within five minutes.

https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/FIFO-queues-understanding-logic.html
"""

import hashlib
import itertools
import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.contract.backends import START, Backend
from tests.contract.builders import create_queue, queue_arn, refused

Receive = Callable[..., list[dict[str, Any]]]

GUIDE = "https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide"
API = "https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference"
LOGIC_DOC = f"{GUIDE}/FIFO-queues-understanding-logic.html"
SEND_DOC = f"{API}/API_SendMessage.html"
RECEIVE_DOC = f"{API}/API_ReceiveMessage.html"
CREATE_DOC = f"{API}/API_CreateQueue.html"
HIGH_THROUGHPUT_DOC = f"{GUIDE}/high-throughput-fifo.html"
RETENTION_DOC = f"{GUIDE}/setting-up-dead-letter-queue-retention.html"
REDRIVE_DOC = f"{GUIDE}/sqs-configure-dead-letter-queue-redrive.html"


@pytest.fixture
def queue(sqs: Any) -> str:
    """The URL of a FIFO queue with a visibility timeout of 30 s."""
    return fifo(sqs)


def fifo(sqs: Any, name: str = "work.fifo", **attributes: str) -> str:
    return create_queue(sqs, name, FifoQueue="true", **attributes)


def send(sqs: Any, url: str, body: str, **more: Any) -> dict[str, Any]:
    """Send to the group that the body's first letter names, under an id of its own."""
    ids = {"MessageGroupId": body[0], "MessageDeduplicationId": body}
    answer: dict[str, Any] = sqs.send_message(QueueUrl=url, MessageBody=body, **{**ids, **more})
    return answer


def send_all(sqs: Any, url: str, *bodies: str) -> None:
    for body in bodies:
        send(sqs, url, body)


def bodies(messages: list[dict[str, Any]]) -> list[str]:
    return [message["Body"] for message in messages]


def delete(sqs: Any, url: str, *messages: dict[str, Any]) -> None:
    for message in messages:
        sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])


def hide(sqs: Any, url: str, message: dict[str, Any], seconds: int) -> None:
    sqs.change_message_visibility(
        QueueUrl=url, ReceiptHandle=message["ReceiptHandle"], VisibilityTimeout=seconds
    )


def test_messages_of_a_group_come_in_the_order_they_were_sent(sqs: Any, queue: str, receive: Receive) -> None:
    send_all(sqs, queue, "a1", "a2", "a3")

    assert bodies(receive()) == ["a1", "a2", "a3"]


def test_a_message_tells_its_group_its_id_and_its_number(sqs: Any, queue: str, receive: Receive) -> None:
    first, second = send(sqs, queue, "a1"), send(sqs, queue, "a2")

    attributes = [message["Attributes"] for message in receive()]

    assert [one["MessageGroupId"] for one in attributes] == ["a", "a"]
    assert [one["MessageDeduplicationId"] for one in attributes] == ["a1", "a2"]
    numbers = [one["SequenceNumber"] for one in attributes]
    assert numbers == [first["SequenceNumber"], second["SequenceNumber"]]
    assert {len(number) for number in numbers} == {20}


@pytest.mark.moto_differs(reason="draws numbers at random", doc=SEND_DOC, run=False)
def test_numbers_grow_and_are_not_consecutive(sqs: Any, queue: str) -> None:
    numbers = [int(send(sqs, queue, f"a{one}")["SequenceNumber"]) for one in range(5)]

    assert all(later > earlier + 1 for earlier, later in itertools.pairwise(numbers))


def test_while_a_message_is_in_flight_its_group_is_blocked_and_others_are_not(
    sqs: Any, queue: str, receive: Receive
) -> None:
    send_all(sqs, queue, "a1", "a2", "b1")
    (head,) = receive(MaxNumberOfMessages=1)

    assert bodies(receive()) == ["b1"]
    assert receive() == []
    delete(sqs, queue, head)
    assert bodies(receive()) == ["a2"]


def test_a_failing_head_blocks_its_followers_until_it_is_visible_again(
    backend: Backend, sqs: Any, queue: str, receive: Receive
) -> None:
    send_all(sqs, queue, "a1", "a2")
    receive(MaxNumberOfMessages=1)

    backend.advance(29.999)
    assert receive() == []
    backend.advance(0.001)

    again = receive()
    assert bodies(again) == ["a1", "a2"]
    assert [message["Attributes"]["ApproximateReceiveCount"] for message in again] == ["2", "1"]


@pytest.mark.moto_differs(reason="hands out whatever is visible", doc=LOGIC_DOC)
def test_a_group_is_blocked_as_long_as_any_message_of_it_is_in_flight(
    backend: Backend, sqs: Any, queue: str, receive: Receive
) -> None:
    send_all(sqs, queue, "a1", "a2", "a3")
    head, follower, _ = receive()
    hide(sqs, queue, head, 0)
    hide(sqs, queue, follower, 60)

    assert receive() == []
    backend.advance(59.999)
    assert receive() == []
    backend.advance(0.001)
    assert bodies(receive()) == ["a1", "a2", "a3"]


def test_a_head_given_back_with_its_followers_comes_back_with_them_in_order(
    sqs: Any, queue: str, receive: Receive
) -> None:
    send_all(sqs, queue, "a1", "a2", "a3")
    for message in reversed(receive()):
        hide(sqs, queue, message, 0)

    assert bodies(receive()) == ["a1", "a2", "a3"]


def test_followers_deleted_before_their_head_are_gone_and_the_head_is_not(
    backend: Backend, sqs: Any, queue: str, receive: Receive
) -> None:
    send_all(sqs, queue, "a1", "a2", "a3")
    _, *followers = receive()
    delete(sqs, queue, *followers)
    send(sqs, queue, "a4")
    assert receive() == []

    backend.advance(30)

    assert bodies(receive()) == ["a1", "a4"]


@pytest.mark.moto_differs(reason="returns groups mixed, in the order of sending", doc=LOGIC_DOC)
def test_a_receive_returns_one_group_as_far_as_it_goes_and_then_the_next(
    sqs: Any, queue: str, receive: Receive
) -> None:
    send_all(sqs, queue, "a1", "b1", "a2", "b2")

    assert bodies(receive()) == ["a1", "a2", "b1", "b2"]


@pytest.mark.moto_differs(reason="deletes by any handle it ever gave out", doc=RECEIVE_DOC)
def test_a_handle_whose_lease_has_ended_deletes_nothing_and_that_is_an_error(
    backend: Backend, sqs: Any, queue: str, receive: Receive
) -> None:
    send(sqs, queue, "a1")
    (message,) = receive()
    backend.advance(30)

    with refused("InvalidParameterValue"):
        delete(sqs, queue, message)

    assert bodies(receive()) == ["a1"]


def test_what_is_sent_twice_is_accepted_twice_and_delivered_once(
    sqs: Any, queue: str, receive: Receive
) -> None:
    send(sqs, queue, "a1")
    send(sqs, queue, "another body", MessageGroupId="b", MessageDeduplicationId="a1")

    assert bodies(receive()) == ["a1"]


@pytest.mark.moto_differs(reason="makes up an answer", doc=SEND_DOC)
def test_the_second_send_is_answered_as_the_first(sqs: Any, queue: str) -> None:
    first, second = (send(sqs, queue, "a1") for _ in range(2))

    assert second["MessageId"] == first["MessageId"]
    assert second["SequenceNumber"] == first["SequenceNumber"]


@pytest.mark.moto_differs(reason="remembers only what is still there", doc=SEND_DOC)
def test_an_id_is_remembered_after_its_message_is_deleted(sqs: Any, queue: str, receive: Receive) -> None:
    send(sqs, queue, "a1")
    delete(sqs, queue, *receive())

    send(sqs, queue, "a1")

    assert receive() == []


@pytest.mark.moto_differs(reason="remembers only what is still there", doc=SEND_DOC, run=False)
def test_an_id_is_forgotten_after_exactly_five_minutes(
    backend: Backend, sqs: Any, queue: str, receive: Receive
) -> None:
    send(sqs, queue, "a1")
    delete(sqs, queue, *receive())

    backend.advance(299.999)
    send(sqs, queue, "a1")
    assert receive() == []
    backend.advance(0.001)
    send(sqs, queue, "a1")

    assert bodies(receive()) == ["a1"]


def test_a_repeat_does_not_prolong_the_five_minutes(
    backend: Backend, sqs: Any, queue: str, receive: Receive
) -> None:
    send(sqs, queue, "a1")
    delete(sqs, queue, *receive())
    backend.advance(200)
    send(sqs, queue, "a1")

    backend.advance(100)
    send(sqs, queue, "a1")

    assert bodies(receive()) == ["a1"]


def test_a_queue_may_take_equal_bodies_for_the_same(sqs: Any) -> None:
    url = fifo(sqs, ContentBasedDeduplication="true")
    attributes = {"publication": {"DataType": "String", "StringValue": "p2"}}

    for more in ({}, {"MessageAttributes": attributes}, {"MessageDeduplicationId": "mine"}):
        sqs.send_message(QueueUrl=url, MessageBody="order", MessageGroupId="a", **more)

    received = receive_from(sqs, url)
    digest = hashlib.sha256(b"order").hexdigest()
    assert [one["Attributes"]["MessageDeduplicationId"] for one in received] == [digest, "mine"]


@pytest.mark.moto_differs(reason="deduplicates by queue only", doc=HIGH_THROUGHPUT_DOC)
def test_a_queue_may_deduplicate_each_group_by_itself(sqs: Any) -> None:
    url = fifo(sqs, DeduplicationScope="messageGroup", FifoThroughputLimit="perMessageGroupId")

    for group in "aab":
        sqs.send_message(QueueUrl=url, MessageBody="x", MessageGroupId=group, MessageDeduplicationId="1")

    received = receive_from(sqs, url)
    assert [one["Attributes"]["MessageGroupId"] for one in received] == ["a", "b"]


@pytest.mark.parametrize(
    ("ids", "code"),
    [
        pytest.param({"MessageDeduplicationId": "1"}, "MissingParameter", id="no-group"),
        pytest.param({"MessageGroupId": "a"}, "InvalidParameterValue", id="no-deduplication-id"),
        pytest.param({"MessageGroupId": "zoë@example.com"}, "InvalidParameterValue", id="FIFO-2-letter"),
        pytest.param({"MessageGroupId": "x" * 129}, "InvalidParameterValue", id="FIFO-2-length"),
        pytest.param({"MessageGroupId": " "}, "InvalidParameterValue", id="FIFO-2-blank"),
        pytest.param({"MessageGroupId": ""}, "InvalidParameterValue", id="FIFO-2-odd-empty"),
        pytest.param(
            {"MessageGroupId": "a", "MessageDeduplicationId": "a b"}, "InvalidParameterValue", id="odd-id"
        ),
        pytest.param(
            {"MessageGroupId": "a", "MessageDeduplicationId": "1", "DelaySeconds": 1},
            "InvalidParameterValue",
            id="own-delay",
        ),
    ],
)
@pytest.mark.moto_differs(reason="takes any text as an id", doc=SEND_DOC, of="odd")
def test_ids_that_are_missing_or_malformed_are_refused(
    sqs: Any, queue: str, ids: dict[str, Any], code: str
) -> None:
    with refused(code):
        sqs.send_message(QueueUrl=queue, MessageBody="order", **ids)


def test_a_group_is_128_letters_digits_and_punctuation(sqs: Any, queue: str) -> None:
    punctuation = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"

    send(sqs, queue, "order", MessageGroupId=punctuation + "x" * (128 - len(punctuation)))


@pytest.mark.parametrize(
    ("name", "attributes", "code"),
    [
        ("work", {"FifoQueue": "true"}, "InvalidParameterValue"),
        ("odd.fifo", {}, "InvalidParameterValue"),
        (f"{'x' * 76}.fifo", {"FifoQueue": "true"}, "InvalidParameterValue"),
        ("odd-standard", {"ContentBasedDeduplication": "true"}, "InvalidAttributeName"),
        ("odd-choice.fifo", {"FifoQueue": "true", "DeduplicationScope": "topic"}, "InvalidAttributeValue"),
        (
            "odd-throughput.fifo",
            {"FifoQueue": "true", "FifoThroughputLimit": "perMessageGroupId"},
            "InvalidAttributeValue",
        ),
    ],
)
@pytest.mark.moto_differs(reason="does not look that closely", doc=CREATE_DOC, of="odd")
def test_a_queues_name_and_attributes_fit_its_type(
    sqs: Any, name: str, attributes: dict[str, str], code: str
) -> None:
    with refused(code):
        create_queue(sqs, name, **attributes)


@pytest.mark.moto_differs(reason="changes a queue's type", doc=CREATE_DOC)
def test_a_queues_type_never_changes(sqs: Any) -> None:
    url = create_queue(sqs, "work")

    with refused("InvalidAttributeName"):
        sqs.set_queue_attributes(QueueUrl=url, Attributes={"FifoQueue": "true"})


def test_a_queue_tells_that_it_is_fifo(sqs: Any, queue: str) -> None:
    attributes = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["All"])["Attributes"]

    assert attributes["FifoQueue"] == "true"
    assert attributes["ContentBasedDeduplication"] == "false"
    assert attributes["DeduplicationScope"] == "queue"
    assert attributes["FifoThroughputLimit"] == "perQueue"


def test_a_queue_may_delay_everything_and_keeps_the_order(backend: Backend, sqs: Any) -> None:
    url = fifo(sqs, DelaySeconds="5")
    send(sqs, url, "a1")
    backend.advance(1)
    send(sqs, url, "a2")

    backend.advance(3.999)
    assert "Messages" not in sqs.receive_message(QueueUrl=url)
    backend.advance(0.001)
    assert bodies(sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10)["Messages"]) == ["a1"]


def test_a_batch_is_sent_in_its_order(sqs: Any, queue: str, receive: Receive) -> None:
    entries = [
        {"Id": str(one), "MessageBody": f"a{one}", "MessageGroupId": "a", "MessageDeduplicationId": str(one)}
        for one in range(10)
    ]

    answer = sqs.send_message_batch(QueueUrl=queue, Entries=entries)

    assert all("SequenceNumber" in entry for entry in answer["Successful"])
    assert bodies(receive()) == [f"a{one}" for one in range(10)]


@pytest.fixture
def dead(sqs: Any) -> str:
    return fifo(sqs, "dead.fifo")


@pytest.fixture
def source(sqs: Any, dead: str) -> str:
    policy = json.dumps({"deadLetterTargetArn": queue_arn(sqs, dead), "maxReceiveCount": 2})
    return fifo(sqs, "source.fifo", RedrivePolicy=policy)


def receive_from(sqs: Any, url: str, visibility: int = 0, limit: int = 10) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = sqs.receive_message(
        QueueUrl=url,
        MaxNumberOfMessages=limit,
        VisibilityTimeout=visibility,
        MessageSystemAttributeNames=["All"],
    ).get("Messages", [])
    return messages


def test_a_dead_letter_keeps_its_group_and_frees_its_followers(sqs: Any, source: str, dead: str) -> None:
    send_all(sqs, source, "a1", "a2")
    for _ in range(2):
        receive_from(sqs, source, limit=1)

    assert bodies(receive_from(sqs, source)) == ["a2"]

    (letter,) = receive_from(sqs, dead)
    assert (letter["Body"], letter["Attributes"]["MessageGroupId"]) == ("a1", "a")


@pytest.mark.moto_differs(reason="knows nothing of it", doc=RETENTION_DOC)
def test_a_dead_letter_is_as_old_as_its_move(backend: Backend, sqs: Any, source: str, dead: str) -> None:
    send(sqs, source, "a1")
    backend.advance(100)
    for _ in range(3):
        receive_from(sqs, source)

    (letter,) = receive_from(sqs, dead)

    assert letter["Attributes"]["SentTimestamp"] == str(int((START + 100) * 1000))


@pytest.mark.moto_differs(reason="keeps the deduplication id", doc=REDRIVE_DOC)
def test_a_dead_letters_deduplication_id_is_its_message_id(sqs: Any, source: str, dead: str) -> None:
    sent = send(sqs, source, "a1")
    for _ in range(3):
        receive_from(sqs, source)

    (letter,) = receive_from(sqs, dead)

    assert letter["Attributes"]["MessageDeduplicationId"] == sent["MessageId"] == letter["MessageId"]


@pytest.mark.parametrize(("kind", "other"), [("odd", "dead.fifo"), ("fifo", "dead")])
@pytest.mark.moto_differs(reason="looks at FIFO sources only", doc=CREATE_DOC, of="odd")
def test_a_dead_letter_queue_is_of_its_sources_type(sqs: Any, kind: str, other: str) -> None:
    target = fifo(sqs, other) if other.endswith(".fifo") else create_queue(sqs, other)
    policy = json.dumps({"deadLetterTargetArn": queue_arn(sqs, target), "maxReceiveCount": 2})

    with refused("InvalidParameterValue", "InvalidParameterCombination"):
        if kind == "fifo":
            fifo(sqs, RedrivePolicy=policy)
        else:
            create_queue(sqs, "work", RedrivePolicy=policy)
