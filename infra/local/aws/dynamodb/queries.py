"""Queries on a table or a global secondary index.

https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_Query.html
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from infra.local.aws.dynamodb.capacity import Capacity
from infra.local.aws.dynamodb.expressions import conditions, projections
from infra.local.aws.dynamodb.expressions.conditions import (
    Between,
    Call,
    Comparison,
    Condition,
    Junction,
    PathOperand,
    ValueOperand,
)
from infra.local.aws.dynamodb.expressions.scope import Scope
from infra.local.aws.dynamodb.index import Index
from infra.local.aws.dynamodb.keys import KeySchema
from infra.local.aws.dynamodb.table import Table
from infra.local.aws.dynamodb.values import Item, Value, canonical_item, invalid, item_size, kind_of, scalar

Params = Mapping[str, Any]

PAGE_BYTES = 1024 * 1024


@dataclass(frozen=True)
class Page:
    """What one query went through, before its filter, and where it stopped short."""

    items: list[Item]
    last_key: Item | None


class Query:
    """One query, checked."""

    def __init__(self, table: Table, params: Params) -> None:
        self._table = table
        self._index = _index(table, params)
        self._schema = table.schema if self._index is None else self._index.schema
        self._params = params
        self._scope = Scope(params)
        self._consistent = bool(params.get("ConsistentRead"))
        if self._index is not None and self._consistent:
            raise invalid("Consistent reads are not supported on global secondary indexes")
        key_condition = conditions.parse("KeyConditionExpression", params["KeyConditionExpression"])
        filter_text, projection_text = params.get("FilterExpression"), params.get("ProjectionExpression")
        self._filter = None if filter_text is None else conditions.parse("FilterExpression", filter_text)
        self._projection = None if projection_text is None else projections.parse(projection_text)
        self._scope.check(
            (kind, parsed.references)
            for kind, parsed in (
                ("KeyConditionExpression", key_condition),
                ("FilterExpression", self._filter),
                ("ProjectionExpression", self._projection),
            )
            if parsed is not None
        )
        self._key_condition = key_condition.condition
        self._partition = _partition(self._key_condition, self._schema, self._scope)

    def run(self, capacity: Capacity) -> dict[str, Any]:
        page = self._page()
        capacity.read(self._table, page.items, self._consistent, self._index)
        kept = [item for item in page.items if self._keeps(item)]
        answer: dict[str, Any] = {"Count": len(kept), "ScannedCount": len(page.items)}
        if self._params.get("Select") != "COUNT":
            answer["Items"] = [self._projected(item) for item in kept]
        if page.last_key is not None:
            answer["LastEvaluatedKey"] = page.last_key
        return answer

    def _page(self) -> Page:
        """Up to `Limit` items or 1 MB, whichever ends first."""
        items: list[Item] = []
        size = 0
        limit = self._params.get("Limit") or len(self._table.items) + 1
        for item in self._candidates():
            items.append(item)
            size += item_size(item)
            if len(items) == limit or size >= PAGE_BYTES:
                return Page(items, self._key_of(item))
        return Page(items, None)

    def _candidates(self) -> Iterator[Item]:
        """Matching items in order, after the start key."""
        forward = self._params.get("ScanIndexForward", True)
        keys = list(self._table.keys(scalar(self._partition), self._index))
        start = self._params.get("ExclusiveStartKey")
        skipping = None if start is None else self._table.schema.of_item(canonical_item(start))
        for key in keys if forward else reversed(keys):
            if skipping is not None:
                skipping = None if key == skipping else skipping
                continue
            seen = self._seen(key)
            if seen is not None and self._key_condition.holds(seen, self._scope):
                yield seen

    def _seen(self, key: Any) -> Item | None:
        item = self._table.get(key, self._consistent)
        return item if self._index is None else self._index.entry(item)

    def _key_of(self, item: Item) -> Item:
        names = (*self._table.schema.names, *self._schema.names)
        return {name: item[name] for name in names}

    def _keeps(self, item: Item) -> bool:
        return self._filter is None or self._filter.condition.holds(item, self._scope)

    def _projected(self, item: Item) -> Item:
        return item if self._projection is None else self._projection.apply(item, self._scope)


def _index(table: Table, params: Params) -> Index | None:
    name = params.get("IndexName")
    if name is None:
        return None
    if name not in table.indexes:
        raise invalid(f"The table does not have the specified index: {name}")
    return table.indexes[name]


def _partition(condition: Condition, schema: KeySchema, scope: Scope) -> Value:
    """The partition value; ValidationException unless the condition is one on the key, of the right types."""
    parts = condition.parts if isinstance(condition, Junction) and condition.is_and else (condition,)
    found: Value | None = None
    for part in parts:
        name, operands = _key_part(part, scope)
        if name not in schema.names or len(parts) > len(schema.names):
            raise invalid(f"Query condition missed key schema element: {schema.hash}")
        if any(kind_of(operand) != schema.kinds[name] for operand in operands):
            raise invalid(
                "One or more parameter values were invalid: Condition parameter type does not match schema "
                "type"
            )
        if name == schema.hash:
            if not isinstance(part, Comparison) or part.comparator != "=":
                raise invalid("Query key condition not supported")
            found = operands[0]
    if found is None:
        raise invalid(f"Query condition missed key schema element: {schema.hash}")
    return found


def _key_part(part: Condition, scope: Scope) -> tuple[str, list[Value]]:
    """The attribute that a part of a key condition is about, and the values it is held against."""
    if isinstance(part, Comparison) and part.comparator != "<>":
        operands = [part.left, part.right]
    elif isinstance(part, Between):
        operands = [part.operand, part.low, part.high]
    elif isinstance(part, Call) and part.function == "begins_with":
        operands = list(part.arguments)
    else:
        raise invalid("Invalid operator used in KeyConditionExpression")
    attribute, given = operands[0], [one for one in operands[1:] if isinstance(one, ValueOperand)]
    if not isinstance(attribute, PathOperand) or len(given) != len(operands) - 1:
        raise invalid("Invalid KeyConditionExpression: a key attribute is compared with values only")
    return scope.name(str(attribute.path[0])), [scope.value(one.name) for one in given]
