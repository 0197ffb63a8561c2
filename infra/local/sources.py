"""The model's queues and streams as event source mappings see them, without a request on the wire.

What the Lambda service does itself is no call of the account's own code, so it is not metered either.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from infra.local.aws.dynamodb.stream import Stream
from infra.local.aws.errors import AwsError
from infra.local.aws.region import Region
from infra.local.aws.sqs.message import Received
from infra.local.aws.sqs.queue import Queue
from infra.local.queue_mapping import Delivery
from infra.local.stream_mapping import Record


@dataclass(frozen=True)
class ModelQueue:
    """One queue."""

    region: Region
    queue: Queue

    @property
    def arn(self) -> str:
        return self.queue.arn

    @property
    def is_fifo(self) -> bool:
        return self.queue.settings.is_fifo

    def receive(self, limit: int) -> Sequence[Delivery]:
        with self.region.changed:
            groups = None if self.region.switches.mixed_groups else 1
            return [_delivery(received) for received in self.queue.receive(limit, groups=groups)]

    def delete(self, receipt_handles: Sequence[str]) -> None:
        with self.region.changed:
            for handle in receipt_handles:
                # The lease of a FIFO queue's message may have ended; then it comes back, as on AWS.
                with suppress(AwsError):
                    self.queue.delete(handle)

    def give_back(self, receipt_handles: Sequence[str]) -> None:
        with self.region.changed:
            for handle in receipt_handles:
                self.queue.change_visibility(handle, 0)


@dataclass(frozen=True)
class ModelStream:
    """One table's stream; it has a single shard."""

    region: Region
    stream: Stream

    @property
    def arn(self) -> str:
        return self.stream.arn

    def latest(self) -> int:
        with self.region.changed:
            return self.stream.end

    def read(self, position: int | None, limit: int) -> tuple[Sequence[Record], int]:
        with self.region.changed:
            first = max(position or 0, self.stream.start)
            records = [dict(record) for record in self.stream.read(first, limit)]
            return records, first + len(records)


def _delivery(received: Received) -> Delivery:
    message = received.message
    return Delivery(
        message.id,
        received.handle,
        message.body,
        hashlib.md5(message.body.encode(), usedforsecurity=False).hexdigest(),
        received.system_attributes(),
        message.attributes,
    )
