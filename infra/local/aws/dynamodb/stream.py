"""A table's stream: one record for each change, in order, kept for 24 hours.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Streams.html. The model has one shard a
stream, where AWS has several; per item, which is all that AWS promises, the order is the same.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from infra.local.aws.dynamodb.keys import KeySchema
from infra.local.aws.dynamodb.values import Item, item_size
from infra.local.aws.region import Region

KEPT_SECONDS = 24 * 3600
TIME_TO_LIVE = {"type": "Service", "principalId": "dynamodb.amazonaws.com"}
_FIRST_SEQUENCE_NUMBER = 100_000_000_000_000_000_000

Record = Mapping[str, Any]


@dataclass(frozen=True)
class Change:
    """One item's change; `user` says who, when it was not a caller."""

    old: Item | None
    new: Item | None
    user: Mapping[str, str] | None = None

    @property
    def event_name(self) -> str:
        if self.old is None:
            return "INSERT"
        return "REMOVE" if self.new is None else "MODIFY"


class Stream:
    """Records by position: 0 is the first ever written, whether still kept or trimmed."""

    def __init__(self, region: Region, table: str, label: str, view: str, schema: KeySchema) -> None:
        self.arn = region.arn("dynamodb", f"table/{table}/stream/{label}")
        self.label = label
        self.table = table
        self.view = view
        self.schema = schema
        self._region = region
        self._records: list[tuple[float, Record]] = []
        self._trimmed = 0

    @property
    def start(self) -> int:
        """The position of the oldest record that is still kept."""
        self._trim()
        return self._trimmed

    @property
    def end(self) -> int:
        """The position that the next record will get."""
        return self._trimmed + len(self._records)

    @property
    def records(self) -> list[Record]:
        """All records still kept, oldest first, in the shape Lambda and GetRecords share."""
        return self.read(self.start, self.end)

    def read(self, position: int, limit: int) -> list[Record]:
        """Up to `limit` records from a position on; trimmed ones are skipped."""
        first = max(position, self.start) - self._trimmed
        return [record for _, record in self._records[first : first + limit]]

    def position(self, sequence_number: str) -> int:
        """The position of the record with that sequence number."""
        return int(sequence_number) - _FIRST_SEQUENCE_NUMBER

    def sequence_number(self, position: int) -> str:
        return str(_FIRST_SEQUENCE_NUMBER + position)

    def append(self, change: Change) -> None:
        """A write that changes nothing leaves no record."""
        if change.old == change.new:
            return
        self._records.append((self._region.clock.now(), self._record(change)))
        self._trim()
        self._region.changed.notify_all()

    def _record(self, change: Change) -> Record:
        """https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_streams_Record.html"""
        keys = self.schema.attributes(change.new or change.old or {})
        images = self._images(change)
        record = {
            "eventID": self._region.new_id().replace("-", ""),
            "eventName": change.event_name,
            "eventVersion": "1.1",
            "eventSource": "aws:dynamodb",
            "awsRegion": self._region.name,
            "dynamodb": {
                "ApproximateCreationDateTime": int(self._region.clock.now()),
                "Keys": keys,
                **images,
                "SequenceNumber": self.sequence_number(self.end),
                "SizeBytes": item_size(keys) + sum(item_size(image) for image in images.values()),
                "StreamViewType": self.view,
            },
        }
        return record if change.user is None else {**record, "userIdentity": change.user}

    def _images(self, change: Change) -> dict[str, Item]:
        images: dict[str, Item] = {}
        if change.new is not None and self.view in ("NEW_IMAGE", "NEW_AND_OLD_IMAGES"):
            images["NewImage"] = change.new
        if change.old is not None and self.view in ("OLD_IMAGE", "NEW_AND_OLD_IMAGES"):
            images["OldImage"] = change.old
        return images

    def _trim(self) -> None:
        horizon = self._region.clock.now() - KEPT_SECONDS
        stale = 0
        while stale < len(self._records) and self._records[stale][0] < horizon:
            stale += 1
        if stale:
            del self._records[:stale]
            self._trimmed += stale
