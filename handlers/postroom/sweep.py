"""The sweep: publish what the stream missed. The table, not the stream, is the truth about what is owed."""

from dataclasses import dataclass
from typing import NamedTuple

from .outbox import REFUSED, shards
from .relay import OutboxRow, Relay

MIN_AGE_SECONDS = 60
"""Younger rows are the relay's: sweeping them too would only publish twice."""
ROWS_PER_SHARD = 100


class Swept(NamedTuple):
    """How many rows were due, and the age of the oldest of them in seconds, 0 when there was none."""

    rows: int
    oldest_seconds: float


@dataclass(frozen=True, slots=True)
class Sweep:
    relay: Relay

    def run(self, now: float) -> Swept:
        """Publish every row older than a minute, oldest first per shard. `now` is epoch seconds."""
        before_ms = int((now - MIN_AGE_SECONDS) * 1000)
        born_ms = [born for shard in shards() for born in self._sweep_shard(shard, before_ms)]
        return Swept(len(born_ms), now - min(born_ms) / 1000 if born_ms else 0.0)

    def refused_seconds(self, now: float) -> float:
        """The age in seconds of the oldest row that the topic will never take, 0 when there is none."""
        born_ms = self.relay.outbox.oldest_outstanding(REFUSED)
        return max(0.0, now - born_ms / 1000) if born_ms is not None else 0.0

    def _sweep_shard(self, shard: str, before_ms: int) -> list[int]:
        """When the rows that were due were born, in epoch milliseconds."""
        outbox = self.relay.outbox
        keys = outbox.outstanding(shard, before_ms, ROWS_PER_SHARD)
        items = outbox.read(keys) if keys else {}
        # the index is eventually consistent: the row itself says whether it is still owed
        rows = [OutboxRow.from_item(key, items[key]) for key in keys if "unpublished" in items.get(key, {})]
        self.relay.publish(rows)
        return [int(items[row.key]["bornAt"]) for row in rows]
