"""The sweep: publish what the stream missed. The table, not the stream, is the truth about what is owed."""

from dataclasses import dataclass

from .outbox import shards
from .relay import OutboxRow, Relay

MIN_AGE_SECONDS = 60
"""Younger rows are the relay's: sweeping them too would only publish twice."""
ROWS_PER_SHARD = 100


@dataclass(frozen=True, slots=True)
class Sweep:
    relay: Relay

    def run(self, now: float) -> int:
        """Publish every row older than a minute, oldest first per shard; returns how many were due.

        `now` is epoch seconds.
        """
        return sum(self._sweep_shard(shard, int((now - MIN_AGE_SECONDS) * 1000)) for shard in shards())

    def _sweep_shard(self, shard: str, before_ms: int) -> int:
        outbox = self.relay.outbox
        keys = outbox.outstanding(shard, before_ms, ROWS_PER_SHARD)
        items = outbox.read(keys) if keys else {}
        # the index is eventually consistent: the row itself says whether it is still owed
        rows = [OutboxRow.from_item(key, items[key]) for key in keys if "unpublished" in items.get(key, {})]
        self.relay.publish(rows)
        return len(rows)
