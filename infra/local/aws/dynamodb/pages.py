"""What queries and scans share: pages, filter, projection.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Query.Pagination.html
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from infra.local.aws.dynamodb.capacity import Capacity
from infra.local.aws.dynamodb.expressions import conditions, projections
from infra.local.aws.dynamodb.expressions.scope import References, Scope
from infra.local.aws.dynamodb.index import Index
from infra.local.aws.dynamodb.keys import Key
from infra.local.aws.dynamodb.table import Table
from infra.local.aws.dynamodb.values import Item, canonical_item, invalid, item_size

Params = Mapping[str, Any]
Uses = list[tuple[str, References]]

PAGE_BYTES = 1024 * 1024


@dataclass(frozen=True)
class Page:
    """What one request went through, before its filter, and where it stopped short."""

    items: list[Item]
    last_key: Item | None


class Reads:
    """One request that reads several items of a table or an index, checked.

    `uses` are the placeholders of what comes on top of filter and projection.
    """

    def __init__(self, table: Table, params: Params, uses: Uses) -> None:
        self.table = table
        self.index = _index(table, params)
        self.schema = table.schema if self.index is None else self.index.schema
        self.scope = Scope(params)
        self.consistent = bool(params.get("ConsistentRead"))
        if self.index is not None and self.consistent:
            raise invalid("Consistent reads are not supported on global secondary indexes")
        self._params = params
        filter_text, projection_text = params.get("FilterExpression"), params.get("ProjectionExpression")
        self._filter = None if filter_text is None else conditions.parse("FilterExpression", filter_text)
        self._projection = None if projection_text is None else projections.parse(projection_text)
        more = (("FilterExpression", self._filter), ("ProjectionExpression", self._projection))
        self.scope.check([*uses, *((kind, parsed.references) for kind, parsed in more if parsed is not None)])

    @property
    def start(self) -> Item | None:
        """The item that the page before ended with, if it was not the first; it may be gone by now."""
        start = self._params.get("ExclusiveStartKey")
        return None if start is None else canonical_item(start)

    def seen(self, key: Key) -> Item | None:
        """What the read sees under a key of the table."""
        item = self.table.get(key, self.consistent)
        return item if self.index is None else self.index.entry(item)

    def answer(self, candidates: Iterable[Item], capacity: Capacity) -> dict[str, Any]:
        page = self._page(candidates)
        capacity.read(self.table, page.items, self.consistent, self.index)
        kept = [item for item in page.items if self._keeps(item)]
        answer: dict[str, Any] = {"Count": len(kept), "ScannedCount": len(page.items)}
        if self._params.get("Select") != "COUNT":
            answer["Items"] = [self._projected(item) for item in kept]
        if page.last_key is not None:
            answer["LastEvaluatedKey"] = page.last_key
        return answer

    def _page(self, candidates: Iterable[Item]) -> Page:
        """Up to `Limit` items or 1 MB, whichever ends first."""
        items: list[Item] = []
        size, limit = 0, self._params.get("Limit")
        for item in candidates:
            items.append(item)
            size += item_size(item)
            if len(items) == limit or size >= PAGE_BYTES:
                return Page(items, self._key_of(item))
        return Page(items, None)

    def _key_of(self, item: Item) -> Item:
        return {name: item[name] for name in (*self.table.schema.names, *self.schema.names)}

    def _keeps(self, item: Item) -> bool:
        return self._filter is None or self._filter.condition.holds(item, self.scope)

    def _projected(self, item: Item) -> Item:
        return item if self._projection is None else self._projection.apply(item, self.scope)


def _index(table: Table, params: Params) -> Index | None:
    name = params.get("IndexName")
    if name is None:
        return None
    if name not in table.indexes:
        raise invalid(f"The table does not have the specified index: {name}")
    return table.indexes[name]
