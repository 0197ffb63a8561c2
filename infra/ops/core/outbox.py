"""What is still to be published, and what the topic refuses."""

from dataclasses import dataclass
from functools import partial
from typing import Any

from handlers.postroom.aws.subscriber_queue import SqsSubscriberQueue
from handlers.postroom.errors import NotFound
from handlers.postroom.jobs import JobType
from handlers.postroom.outbox import REFUSED, shards
from handlers.postroom.republish import Republisher, Sent, TooOld
from handlers.postroom.storage import Item, Key
from infra.ops.core.errors import Refused
from infra.ops.core.target import Target

PER_SHARD = 100


@dataclass(frozen=True)
class Unpublished:
    """One outbox row. `born_at` is epoch seconds; `refusal` says why the topic will never take it."""

    key: Key
    event: str
    born_at: float
    refusal: str | None


def unpublished(target: Target) -> list[Unpublished]:
    """What has not gone out, oldest first, at most a hundred of each shard."""
    until_ms = int(target.clock() * 1000) + 1
    keys = [
        key for shard in [*shards(), REFUSED] for key in target.store.outstanding(shard, until_ms, PER_SHARD)
    ]
    rows = target.store.read(keys) if keys else {}
    owed = (_row(key, rows[key]) for key in keys if "unpublished" in rows.get(key, {}))
    return sorted(owed, key=lambda row: row.born_at)


def _row(key: Key, item: Item) -> Unpublished:
    refusal = item.get("refusal") if item["unpublished"] == REFUSED else None
    return Unpublished(key, str(item.get("event", "")), int(item["bornAt"]) / 1000, refusal)


def _queue_of(target: Target, to: JobType[Any]) -> SqsSubscriberQueue:
    return SqsSubscriberQueue(target.deployment, to.subscriber, to.is_ordered)


def republish(target: Target, event_id: str, subscriber: str, *, reopen: bool) -> Sent:
    """Send one event to one subscriber's queue. Raises `Refused` for none, or one older than job rows."""
    around = target.deployment
    republisher = Republisher(target.store, partial(_queue_of, target), around.new_id, around.clock)
    try:
        return republisher.send(event_id, target.job_type(subscriber), reopen=reopen)
    except (NotFound, TooOld) as reason:
        raise Refused(str(reason)) from reason
