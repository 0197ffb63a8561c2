"""A stack's queues, told apart by their own redrive policies."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from infra.ops.core.errors import Refused
from infra.ops.core.target import Target

_COUNTS = (
    "ApproximateNumberOfMessages",
    "ApproximateNumberOfMessagesNotVisible",
    "ApproximateNumberOfMessagesDelayed",
)
_ATTRIBUTES = ["QueueArn", "RedrivePolicy", "CreatedTimestamp", *_COUNTS]


@dataclass(frozen=True)
class Queue:
    """One queue and how many messages it holds, approximately. `created_at` is epoch seconds."""

    name: str
    url: str
    arn: str
    created_at: int
    dead_letters_arn: str | None
    visible: int
    in_flight: int
    delayed: int

    @property
    def depth(self) -> int:
        return self.visible + self.in_flight + self.delayed


@dataclass(frozen=True)
class DeadLetterQueue:
    """A subscriber's dead letters and the queue that they came from."""

    subscriber: str
    source: Queue
    dead: Queue


@dataclass(frozen=True)
class Queues:
    """All queues of a stack. `others` hold what never reached a subscriber, or what a stream gave up on."""

    dead_letters: Sequence[DeadLetterQueue]
    others: Sequence[Queue]

    def of(self, subscriber: str) -> DeadLetterQueue:
        """Raises `Refused`, naming those that there are."""
        for each in self.dead_letters:
            if each.subscriber == subscriber:
                return each
        known = ", ".join(each.subscriber for each in self.dead_letters)
        raise Refused(f"there is no subscriber {subscriber!r}; there are: {known}")


def queues(target: Target) -> Queues:
    """Look at every queue of the stack."""
    found = [_look(target, one.logical_id, one.physical_id) for one in target.of_type("AWS::SQS::Queue")]
    by_arn = {queue.arn: queue for queue in found}
    pairs = [
        DeadLetterQueue(_subscriber(target, queue), queue, by_arn[queue.dead_letters_arn])
        for queue in found
        if queue.dead_letters_arn in by_arn
    ]
    paired = {queue.arn for pair in pairs for queue in (pair.source, pair.dead)}
    return Queues(
        sorted(pairs, key=lambda pair: pair.subscriber),
        [queue for queue in found if queue.arn not in paired],
    )


def _look(target: Target, logical_id: str, url: str) -> Queue:
    answer = target.client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=_ATTRIBUTES)
    told: Mapping[str, Any] = answer["Attributes"]
    policy = json.loads(told.get("RedrivePolicy", "{}"))
    counts = (int(told[name]) for name in _COUNTS)
    created = int(told["CreatedTimestamp"])
    return Queue(logical_id, url, told["QueueArn"], created, policy.get("deadLetterTargetArn"), *counts)


def _subscriber(target: Target, queue: Queue) -> str:
    """Queues are named after stack and subscriber, which a check of the template holds them to."""
    return queue.arn.split(":")[-1].removesuffix(".fifo").removeprefix(f"{target.name}-")
