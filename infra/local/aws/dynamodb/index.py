"""Items in key order: a table's own partitions, and those of its global secondary indexes.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GSI.html
"""

import bisect
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from infra.local.aws.dynamodb.keys import Key, KeySchema
from infra.local.aws.dynamodb.values import Item, Scalar, bad_parameter

# Sort value and, to tell entries of one sort value apart, the item's own key.
Place = tuple[Scalar, Key]


class Partitions:
    """For each partition value, the keys of its items in sort order."""

    def __init__(self) -> None:
        self._places: dict[Scalar, list[Place]] = {}

    def add(self, at: Key, key: Key) -> None:
        bisect.insort(self._places.setdefault(at[0], []), (at[1], key))

    def remove(self, at: Key, key: Key) -> None:
        places = self._places[at[0]]
        del places[bisect.bisect_left(places, (at[1], key))]
        if not places:
            del self._places[at[0]]

    def places(self, partition: Scalar) -> list[Place]:
        """The partition's items in sort order."""
        return list(self._places.get(partition, ()))


@dataclass
class Index:
    """One global secondary index: its entries, and what they carry of each item."""

    name: str
    schema: KeySchema
    projection: str
    included: tuple[str, ...]
    base: KeySchema
    partitions: Partitions = field(default_factory=Partitions)

    @classmethod
    def parse(cls, definition: Mapping[str, Any], kinds: Mapping[str, str], base: KeySchema) -> "Index":
        """From the API's GlobalSecondaryIndex."""
        projection = definition.get("Projection") or {}
        kind = projection.get("ProjectionType", "ALL")
        if kind not in ("ALL", "KEYS_ONLY", "INCLUDE"):
            raise bad_parameter(f"Unknown ProjectionType: {kind}")
        return cls(
            definition["IndexName"],
            KeySchema.parse(definition["KeySchema"], kinds),
            kind,
            tuple(projection.get("NonKeyAttributes") or ()),
            base,
        )

    def entry(self, item: Item | None) -> Item | None:
        """What the index holds of an item; None when it has no entry."""
        if item is None or self.schema.of_entry(item) is None:
            return None
        if self.projection == "ALL":
            return item
        return {name: value for name, value in item.items() if name in self._kept}

    @cached_property
    def _kept(self) -> frozenset[str]:
        return frozenset((*self.base.names, *self.schema.names, *self.included))

    def move(self, key: Key, old: Item | None, new: Item | None) -> None:
        """Follow a change of the item with that key."""
        before = None if old is None else self.schema.of_entry(old)
        after = None if new is None else self.schema.of_entry(new)
        if before == after:
            return
        if before is not None:
            self.partitions.remove(before, key)
        if after is not None:
            self.partitions.add(after, key)
