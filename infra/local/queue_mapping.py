"""Event source mapping of an SQS queue: receive, invoke, delete what went well.

Source: https://docs.aws.amazon.com/lambda/latest/dg/with-sqs.html and services-sqs-errorhandling.html.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from infra.local.batch_answers import MalformedAnswerError, failed_items
from infra.local.filters import Predicate, any_of
from infra.local.functions import Function, Invocation
from infra.local.heartbeat import Holding, not_holding

RECEIVE_LIMIT = 10
DEFAULT_CONCURRENCY = 5
"""A mapping of a standard queue starts with five concurrent batches (with-sqs.html, "Scaling behavior")."""


@dataclass(frozen=True)
class Delivery:
    """A message as `ReceiveMessage` hands it out."""

    id: str
    receipt_handle: str
    body: str
    md5: str
    attributes: Mapping[str, str]
    message_attributes: Mapping[str, Mapping[str, Any]]


class Queue(Protocol):
    """What a mapping needs of its queue."""

    @property
    def arn(self) -> str: ...

    @property
    def is_fifo(self) -> bool: ...

    def receive(self, limit: int) -> Sequence[Delivery]: ...

    def delete(self, receipt_handles: Sequence[str]) -> None: ...

    def give_back(self, receipt_handles: Sequence[str]) -> None:
        """Make the messages visible again at once."""


@dataclass(frozen=True)
class QueueMappingSettings:
    """`window` is in seconds; `concurrency` is the number of batches in flight at once."""

    batch_size: int = 10
    window: float = 0
    concurrency: int = DEFAULT_CONCURRENCY
    reports_failures: bool = False
    patterns: tuple[str, ...] = ()


class QueueMapping:
    """Feeds one queue to one function. Several batches may be in work at once.

    Of a FIFO queue, a batch is what one receive gave: the queue itself keeps a message group with one batch
    at a time and in order, while other groups go on beside it (services-sqs-scaling.html).
    """

    def __init__(
        self,
        name: str,
        queue: Queue,
        function: Function,
        settings: QueueMappingSettings,
        region: str,
        stopping: threading.Event,
        wait: Callable[[float], object] = lambda _: None,
        holding: Holding = not_holding,
    ) -> None:
        self.name = name
        self.function = function
        self.settings = settings
        self._queue = queue
        self._region = region
        self._stopping = stopping
        self._wait = wait
        self._holding = holding
        if queue.is_fifo and (settings.batch_size > RECEIVE_LIMIT or settings.window):
            # https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-parameters.html
            raise ValueError(
                f"{name}: batches of a FIFO queue have at most {RECEIVE_LIMIT} records, no window"
            )
        self._wanted: Predicate = any_of(settings.patterns)

    @property
    def source_arn(self) -> str:
        return self._queue.arn

    @property
    def concurrency(self) -> int:
        return self.settings.concurrency

    def next_due(self) -> float | None:
        """Nothing but the queue itself ever makes this mapping wait."""
        return None

    def claim(self) -> Callable[[], int] | None:
        """Receive a batch. Returns the work of handing it over, which gives the number of its messages."""
        batch = self._receive(self.settings.batch_size)
        return (lambda: self._hand_over(batch)) if batch else None

    def _hand_over(self, first: list[Delivery]) -> int:
        batch = self._matching(self._filled(first))
        if self._stopping.is_set():
            self._queue.give_back([message.receipt_handle for message in batch])
            return 0
        if batch:
            with self._holding([message.receipt_handle for message in batch]):
                invocation = self.function.invoke({"Records": [self._record(message) for message in batch]})
            self._settle(batch, invocation)
        return len(batch)

    def _filled(self, first: list[Delivery]) -> list[Delivery]:
        batch = first
        if self._queue.is_fifo:
            return batch
        if self.settings.window:
            self._wait(self.settings.window)
        while len(batch) < self.settings.batch_size:
            more = self._receive(self.settings.batch_size - len(batch))
            if not more:
                break
            batch = [*batch, *more]
        return batch

    def _receive(self, limit: int) -> list[Delivery]:
        return [] if self._stopping.is_set() else list(self._queue.receive(min(limit, RECEIVE_LIMIT)))

    def _matching(self, batch: list[Delivery]) -> list[Delivery]:
        # Lambda deletes what the filter does not let through.
        if not self.settings.patterns:
            return batch
        unwanted = [message for message in batch if not self._wanted({"body": _parsed(message.body)})]
        if unwanted:
            self._queue.delete([message.receipt_handle for message in unwanted])
        return [message for message in batch if message not in unwanted]

    def _settle(self, batch: Sequence[Delivery], invocation: Invocation) -> None:
        # What failed stays received, until its visibility timeout ends (or what the function made of it).
        if invocation.error is not None:
            return
        try:
            failed = self._failed(batch, invocation)
        except MalformedAnswerError:
            return
        done = [message.receipt_handle for message in batch if message.id not in failed]
        if done:
            self._queue.delete(done)

    def _failed(self, batch: Sequence[Delivery], invocation: Invocation) -> frozenset[str]:
        if not self.settings.reports_failures:
            return frozenset()
        return failed_items(invocation.answer, [message.id for message in batch])

    def _record(self, message: Delivery) -> dict[str, Any]:
        return {
            "messageId": message.id,
            "receiptHandle": message.receipt_handle,
            "body": message.body,
            "attributes": dict(message.attributes),
            "messageAttributes": {
                name: _attribute(value) for name, value in message.message_attributes.items()
            },
            "md5OfBody": message.md5,
            "eventSource": "aws:sqs",
            "eventSourceARN": self._queue.arn,
            "awsRegion": self._region,
        }


def _attribute(value: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **{f"{key[0].lower()}{key[1:]}": item for key, item in value.items()},
        "stringListValues": [],
        "binaryListValues": [],
    }


def _parsed(body: str) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return body
