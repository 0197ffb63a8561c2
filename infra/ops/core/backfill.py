"""The past, for a subscriber that has not seen it: one added later, or one that was away."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from handlers.postroom.aws.expressions import from_attributes
from handlers.postroom.aws.subscriber_queue import SqsSubscriberQueue
from handlers.postroom.errors import NotFound, Transient, Unreadable
from handlers.postroom.events import Envelope, read_envelope
from handlers.postroom.jobs import JobType
from handlers.postroom.republish import OLDEST_SECONDS, Republisher, TooOld
from handlers.postroom.storage import Key
from infra.ops.core.move_tasks import Report
from infra.ops.core.queues import Queue
from infra.ops.core.target import Target

_JOBS_AT_ONCE = 100
"""Keys of one `BatchGetItem`.

https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchGetItem.html
"""


@dataclass(frozen=True)
class Backfill:
    """Events from `since` on and before `until` (epoch seconds) of which `to` has no job."""

    target: Target
    to: JobType[Any]
    queue: Queue
    since: float
    until: float

    def missing(self, report: Callable[[int], None]) -> Sequence[Envelope]:
        """Oldest first. Reads the whole Shop table; `report` hears how many events were looked at."""
        seen = 0
        found: list[Envelope] = []
        for page in self._pages():
            found += self._without_job(page)
            seen += len(page)
            report(seen)
        return sorted(found, key=lambda envelope: (envelope.time, envelope.sequence))

    def too_old(self, envelope: Envelope) -> bool:
        """Whether what would tell a repeat from a first time may have expired since.

        What is older than the queue itself, nobody can have taken from it.
        """
        born = envelope.time.timestamp()
        return born >= self.queue.created_at and self.target.clock() - born >= OLDEST_SECONDS

    def send(self, envelopes: Sequence[Envelope], rate: int | None, report: Report) -> dict[str, str]:
        """Send each straight to the queue, at most `rate` a second. Returns the reason of each not sent."""
        failed = {}
        for number, envelope in enumerate(envelopes):
            if number and rate:
                self.target.sleep(1 / rate)
            try:
                first_time = not self.too_old(envelope)
                self._republisher.send(envelope.id, self.to, first_time=first_time)
            except (NotFound, TooOld, Transient) as reason:
                failed[envelope.id] = str(reason)
            report(number + 1, len(envelopes))
        return failed

    @cached_property
    def _republisher(self) -> Republisher:
        around = self.target.deployment
        queue = SqsSubscriberQueue(around, self.to.subscriber, self.to.is_ordered)
        return Republisher(self.target.store, lambda _: queue, around.new_id, around.clock)

    def _pages(self) -> Iterator[list[Envelope]]:
        """https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Scan.html"""
        pages = (
            self.target.client("dynamodb")
            .get_paginator("scan")
            .paginate(
                TableName=self.target.physical_id("ShopTable"),
                FilterExpression="attribute_exists(#event) AND bornAt BETWEEN :since AND :until",
                ProjectionExpression="#event",
                ExpressionAttributeNames={"#event": "event"},
                ExpressionAttributeValues={
                    ":since": {"N": str(int(self.since * 1000))},
                    ":until": {"N": str(int(self.until * 1000) - 1)},
                },
            )
        )
        for page in pages:
            yield [
                envelope
                for item in page["Items"]
                if (envelope := self._ours(str(from_attributes(item)["event"])))
            ]

    def _ours(self, text: str) -> Envelope | None:
        """Nothing for other types' events, nor for what the relay has refused as unreadable."""
        try:
            envelope = read_envelope(text)
        except Unreadable:
            return None
        return envelope if envelope.type in self.to.on.names else None

    def _without_job(self, envelopes: Sequence[Envelope]) -> list[Envelope]:
        kept: list[Envelope] = []
        for start in range(0, len(envelopes), _JOBS_AT_ONCE):
            chunk = envelopes[start : start + _JOBS_AT_ONCE]
            places = {envelope.id: self._places(envelope.id) for envelope in chunk}
            taken = self.target.store.read([key for keys in places.values() for key in keys])
            kept += [envelope for envelope in chunk if not any(key in taken for key in places[envelope.id])]
        return kept

    def _places(self, event_id: str) -> list[Key]:
        """Where a job of the event would have left its row, or the effect that is its marker."""
        marker = self.to.marker_key(event_id)
        row = Key("jobs", event_id, self.to.subscriber)
        return [row] if marker is None else [row, marker]
