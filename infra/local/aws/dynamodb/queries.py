"""Queries on a table or a global secondary index.

https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_Query.html
"""

import bisect
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from infra.local.aws.dynamodb.capacity import Capacity
from infra.local.aws.dynamodb.expressions import conditions
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
from infra.local.aws.dynamodb.index import Place
from infra.local.aws.dynamodb.keys import KeySchema
from infra.local.aws.dynamodb.pages import Reads
from infra.local.aws.dynamodb.table import Table
from infra.local.aws.dynamodb.values import Item, Value, invalid, kind_of, scalar

Params = Mapping[str, Any]

_KIND = "KeyConditionExpression"


class Query:
    """One query, checked."""

    def __init__(self, table: Table, params: Params) -> None:
        parsed = conditions.parse(_KIND, params[_KIND])
        self._condition = parsed.condition
        self._reads = Reads(table, params, [(_KIND, parsed.references)])
        self._partition = _partition(self._condition, self._reads.schema, self._reads.scope)
        self._forward = bool(params.get("ScanIndexForward", True))

    def run(self, capacity: Capacity) -> dict[str, Any]:
        return self._reads.answer(self._candidates(), capacity)

    def _candidates(self) -> Iterator[Item]:
        """Matching items in order, from where the page before stopped."""
        for _, key in self._places():
            item = self._reads.seen(key)
            if item is not None and self._condition.holds(item, self._reads.scope):
                yield item

    def _places(self) -> Iterable[Place]:
        reads = self._reads
        places = reads.table.places(scalar(self._partition), reads.index, reads.consistent)
        start = self._start()
        if self._forward:
            return places if start is None else places[bisect.bisect_right(places, start) :]
        return reversed(places if start is None else places[: bisect.bisect_left(places, start)])

    def _start(self) -> Place | None:
        start = self._reads.start
        if start is None:
            return None
        at = self._reads.schema.of_item(start)
        return at[1], self._reads.table.schema.of_item(start)


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
