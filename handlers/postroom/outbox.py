"""The outbox: an item born with an `event` is a promise to publish it.

The event is an attribute of the item, so the entity and its event are written together or not at all.
"""

import hashlib
import re
from typing import Any, NamedTuple, Protocol
from zlib import crc32

from .events import Event, EventType
from .jobs import RETENTION_SECONDS
from .storage import Item, Put

SHARDS = 8
"""Partitions of the index of what is unpublished: one takes 1,000 writes a second, so this many take 8,000.
docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html"""

MAX_GROUP_CHARACTERS = 128

REFUSED = "refused"
"""The partition of rows that the topic refuses for what they are: listed, out of their neighbours' way."""


def attributes(event: Event[Any], *, ordered: bool = False) -> Item:
    """What makes an item an outbox row: the text to publish and its place in the index of the unpublished.

    `ordered` says that it goes through the FIFO topic, in the message group of its aggregate.
    """
    return {
        "event": event.to_json(),
        "unpublished": shard_of(event.aggregate),
        "bornAt": int(event.time.timestamp() * 1000),
        **({"ordered": True} if ordered else {}),
    }


def event_row(event_type: EventType[Any], event: Event[Any]) -> Put:
    """The event as an item of its own, beside the entity that a transaction changes.

    It is kept as long as a job's row: until then its owner may ask what has become of it.
    """
    kept = attributes(event, ordered=event_type.ordered)
    expires = int(event.time.timestamp()) + RETENTION_SECONDS
    return Put(event_type.row_key(event.id), {**kept, "owner": event.owner, "expires": expires})


def message_group(aggregate: str) -> str:
    """The message group of an aggregate: its id, or a digest of one that SQS would not take.

    At most 128 letters, digits and punctuation.
    docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/using-messagegroupid-property.html
    """
    if len(aggregate) <= MAX_GROUP_CHARACTERS and re.fullmatch(r"[!-~]+", aggregate):
        return aggregate
    return hashlib.sha256(aggregate.encode()).hexdigest()


def shard_of(aggregate: str) -> str:
    return str(crc32(aggregate.encode()) % SHARDS)


def shards() -> list[str]:
    return [str(number) for number in range(SHARDS)]


class Outstanding(Protocol):
    def oldest_outstanding(self, shard: str) -> int | None:
        """When the oldest row of a shard was born, in epoch milliseconds; None when there is none."""


class Lag(NamedTuple):
    """Ages in seconds, 0 when there is none: of the oldest row to be published, and of the oldest refused."""

    seconds: float
    refused_seconds: float


def lag(outbox: Outstanding, now: float) -> Lag:
    """How far publishing is behind, as the index tells it, which may be a moment late.

    `now` is epoch seconds. Costs one small query a shard.
    """
    waiting = [born for shard in shards() if (born := outbox.oldest_outstanding(shard)) is not None]
    return Lag(_age(min(waiting, default=None), now), _age(outbox.oldest_outstanding(REFUSED), now))


def _age(born_ms: int | None, now: float) -> float:
    return 0.0 if born_ms is None else max(0.0, now - born_ms / 1000)
