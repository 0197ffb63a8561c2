"""A table: items by key, kept in step with its indexes and its stream."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from infra.local.aws.dynamodb.index import Index, Partitions, Place
from infra.local.aws.dynamodb.keys import Key, KeySchema, attribute_kinds
from infra.local.aws.dynamodb.stream import Change, Stream
from infra.local.aws.dynamodb.values import Item, Scalar, bad_parameter, invalid, item_size
from infra.local.aws.region import Region

# https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html
MAX_ITEM_BYTES = 400 * 1024


class Table:
    """Callers hold the region's lock, and treat items as immutable."""

    def __init__(self, region: Region, params: Mapping[str, Any]) -> None:
        kinds = attribute_kinds(params["AttributeDefinitions"])
        self.name: str = params["TableName"]
        self.arn = region.arn("dynamodb", f"table/{self.name}")
        self.schema = KeySchema.parse(params["KeySchema"], kinds)
        indexes = [Index.parse(one, kinds, self.schema) for one in params.get("GlobalSecondaryIndexes") or []]
        self.indexes = {index.name: index for index in indexes}
        self.stream = _stream(region, self.name, self.schema, params.get("StreamSpecification") or {})
        self.time_to_live: str | None = None
        """The attribute that holds an item's expiry, in seconds since the epoch."""
        self._region = region
        self._items: dict[Key, Item] = {}
        self._partitions = Partitions()
        self._before: dict[Key, tuple[float, Item | None]] = {}
        _refuse_unused(kinds, self)

    @property
    def items(self) -> list[Item]:
        """Every item as it is now, in no particular order."""
        return list(self._items.values())

    def get(self, key: Key, consistent: bool = True) -> Item | None:
        """The item now; a read that is not consistent may see it as it was before a recent write."""
        if not consistent and key in self._before:
            until, old = self._before[key]
            if self._region.clock.now() < until:
                return old
            del self._before[key]
        return self._items.get(key)

    def all_keys(self) -> list[Key]:
        """The key of every item that any read may see."""
        return list({**self._items, **self._before})

    def places(self, partition: Scalar, index: Index | None = None, consistent: bool = True) -> list[Place]:
        """The partition's items in sort order, as far as the read sees them."""
        places = (self._partitions if index is None else index.partitions).places(partition)
        return places if consistent or not self._before else self._lagging_places(partition, index, places)

    def _lagging_places(self, partition: Scalar, index: Index | None, now: list[Place]) -> list[Place]:
        schema = self.schema if index is None else index.schema
        keys = {*(key for _, key in now), *self._before}
        seen = ((key, self.get(key, consistent=False)) for key in keys)
        found = ((key, schema.of_entry(item)) for key, item in seen if item is not None)
        return sorted((at[1], key) for key, at in found if at is not None and at[0] == partition)

    def check(self, item: Item) -> None:
        """What no item may be, whichever write makes it."""
        if item_size(item) > MAX_ITEM_BYTES:
            raise invalid("Item size has exceeded the maximum allowed size")
        for index in self.indexes.values():
            index.schema.check_entry(item, index.name)

    def store(self, key: Key, new: Item | None, user: Mapping[str, str] | None = None) -> None:
        """Set or remove an item, everywhere at once."""
        old = self._items.get(key)
        self._remember(key, old)
        if new is None:
            self._items.pop(key, None)
        else:
            self._items[key] = new
        if (old is None) != (new is None):
            (self._partitions.remove if new is None else self._partitions.add)(key, key)
        for index in self.indexes.values():
            index.move(key, old, new)
        if self.stream is not None:
            self.stream.append(Change(old, new, user))

    def expired(self, now: Decimal) -> list[Key]:
        """Keys of the items whose expiry, in seconds since the epoch, has passed."""
        if self.time_to_live is None:
            return []
        expiries = [(key, item.get(self.time_to_live, {})) for key, item in self._items.items()]
        return [key for key, expiry in expiries if "N" in expiry and Decimal(expiry["N"]) < now]

    def _remember(self, key: Key, old: Item | None) -> None:
        if self._region.switches.stale_seconds:
            self._before[key] = (self._region.clock.now() + self._region.switches.stale_seconds, old)


def _stream(region: Region, table: str, schema: KeySchema, specification: Mapping[str, Any]) -> Stream | None:
    # CloudFormation gives a view type alone; the API says whether the stream is on as well.
    view = specification.get("StreamViewType")
    if not view or specification.get("StreamEnabled") is False:
        return None
    return Stream(region, table, f"{region.now_ms()}", view, schema)


def _refuse_unused(kinds: Mapping[str, str], table: Table) -> None:
    """https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_CreateTable.html"""
    used = {*table.schema.names, *(name for index in table.indexes.values() for name in index.schema.names)}
    if set(kinds) != used:
        raise bad_parameter(
            "Number of attributes in KeySchema does not exactly match number of attributes defined in "
            "AttributeDefinitions"
        )
