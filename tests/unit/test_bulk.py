"""Batches straight into a queue: the limits of a call, and failures inside a success."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from handlers.postroom.bulk import SEND_TRIES, BulkSender, Message, batches
from handlers.postroom.errors import Permanent, Transient
from handlers.postroom.relay import Rejection


@dataclass
class Queue:
    """Refuses by body: `busy` so many times, `bad` for ever."""

    busy: dict[str, int] = field(default_factory=dict)
    bad: set[str] = field(default_factory=set)
    calls: list[list[str]] = field(default_factory=list)
    accepted: list[str] = field(default_factory=list)

    def send(self, messages: Sequence[Message]) -> Sequence[Rejection]:
        self.calls.append([message.body for message in messages])
        return [
            rejection
            for index, message in enumerate(messages)
            if (rejection := self._judge(index, message.body))
        ]

    def _judge(self, index: int, body: str) -> Rejection | None:
        if body in self.bad:
            return Rejection(index, by_sender=True, reason="InvalidMessageContents: no")
        if self.busy.get(body):
            self.busy[body] -= 1
            return Rejection(index, by_sender=False, reason="InternalError: later")
        self.accepted.append(body)
        return None


def message(body: str) -> Message:
    return Message(body, "campaign.mail", "ada")


def sender(queue: Queue) -> BulkSender:
    return BulkSender(queue, pause=lambda _seconds: None)


@pytest.mark.parametrize(
    ("bodies", "sizes"),
    [
        pytest.param(["m"] * 15, [10, 5], id="SQS-4-by-count"),
        pytest.param(["m" * 400_000] * 3, [2, 1], id="SQS-4-by-size"),
        pytest.param(["é" * 300_000] * 2, [1, 1], id="bytes-not-characters"),
        pytest.param(["m"] * 10, [10], id="exactly-full"),
        pytest.param([], [], id="none"),
    ],
)
def test_a_batch_keeps_both_limits_and_the_order(bodies: list[str], sizes: list[int]) -> None:
    split = list(batches([message(body) for body in bodies]))

    assert [len(batch) for batch in split] == sizes
    assert [each.body for batch in split for each in batch] == bodies


def test_what_fails_inside_a_success_is_sent_again_alone() -> None:
    """SQS-1"""
    queue = Queue(busy={"b": 1, "d": 2})

    sender(queue).send([message(body) for body in "abcd"])

    assert queue.calls == [["a", "b", "c", "d"], ["b", "d"], ["d"]]
    assert sorted(queue.accepted) == ["a", "b", "c", "d"]


def test_what_will_never_be_taken_is_surfaced() -> None:
    """SQS-1"""
    queue = Queue(busy={"a": 1}, bad={"b"})

    with pytest.raises(Permanent, match="InvalidMessageContents"):
        sender(queue).send([message(body) for body in "abc"])

    assert queue.calls == [["a", "b", "c"]]


def test_a_queue_that_keeps_refusing_is_left_for_later() -> None:
    queue = Queue(busy={"b": 99})

    with pytest.raises(Transient):
        sender(queue).send([message(body) for body in "abc"])

    assert len(queue.calls) == SEND_TRIES
    assert queue.accepted == ["a", "c"]
