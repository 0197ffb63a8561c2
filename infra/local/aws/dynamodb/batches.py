"""Batches, whose entries fare one by one inside a 200."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from infra.local.aws.dynamodb import partiql
from infra.local.aws.dynamodb.capacity import Capacity
from infra.local.aws.dynamodb.expressions import projections
from infra.local.aws.dynamodb.expressions.scope import Scope
from infra.local.aws.dynamodb.table import Table
from infra.local.aws.dynamodb.values import Item, canonical_item, invalid, item_size
from infra.local.aws.dynamodb.writes import ConditionFailedError, Write
from infra.local.aws.errors import AwsError
from infra.local.aws.switches import is_left_undone

Params = Mapping[str, Any]
Answer = dict[str, Any]
FindTable = Callable[[str], Table]

MAX_KEYS = 100
MAX_STATEMENTS = 25
MAX_ANSWER_BYTES = 16 * 1024 * 1024


def get(find: FindTable, params: Params, capacity: Capacity, partial: bool) -> Answer:
    """Units are rounded item by item.

    https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchGetItem.html
    """
    requests = [_Reads(find(name), request) for name, request in params["RequestItems"].items()]
    count = sum(len(request.keys) for request in requests)
    if not 1 <= count <= MAX_KEYS:
        raise invalid("Too many items requested for the BatchGetItem call")
    answer: Answer = {"Responses": {}, "UnprocessedKeys": {}}
    position = size = 0
    for request in requests:
        found = answer["Responses"].setdefault(request.name, [])
        for key in request.keys:
            if (partial and is_left_undone(position, count)) or size > MAX_ANSWER_BYTES:
                answer["UnprocessedKeys"].setdefault(request.name, request.left()).setdefault(
                    "Keys", []
                ).append(key)
            else:
                item = request.read(key, capacity)
                size += item_size(item or {})
                found.extend([] if item is None else [request.projected(item)])
            position += 1
    return answer


def execute(find: FindTable, params: Params, capacity: Capacity, partial: bool) -> Answer:
    """https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchExecuteStatement.html"""
    statements = params["Statements"]
    if not 1 <= len(statements) <= MAX_STATEMENTS:
        raise invalid(f"Member must have length less than or equal to {MAX_STATEMENTS}")
    undone = [partial and is_left_undone(position, len(statements)) for position in range(len(statements))]
    responses = [
        _error("TransactionConflict", "Transaction is ongoing for the item")
        if left
        else _execute(find, one, capacity)
        for one, left in zip(statements, undone, strict=True)
    ]
    return {"Responses": responses}


class _Reads:
    """One table's share of a BatchGetItem."""

    def __init__(self, table: Table, request: Params) -> None:
        self.name = table.name
        self.keys: list[Item] = [canonical_item(key) for key in request["Keys"]]
        self._table = table
        self._request = request
        self._scope = Scope(request)
        self._consistent = bool(request.get("ConsistentRead"))
        text = request.get("ProjectionExpression")
        self._projection = None if text is None else projections.parse(text)
        self._scope.check(
            [] if self._projection is None else [("ProjectionExpression", self._projection.references)]
        )
        distinct = {table.schema.of_key(key) for key in self.keys}
        if len(distinct) != len(self.keys):
            raise invalid("Provided list of item keys contains duplicates")

    def left(self) -> Answer:
        return {name: value for name, value in self._request.items() if name != "Keys"}

    def read(self, key: Item, capacity: Capacity) -> Item | None:
        item = self._table.get(self._table.schema.of_key(key), self._consistent)
        capacity.read(self._table, _present(item), self._consistent)
        return item

    def projected(self, item: Item) -> Item:
        return item if self._projection is None else self._projection.apply(item, self._scope)


def _execute(find: FindTable, request: Params, capacity: Capacity) -> Answer:
    try:
        statement = partiql.parse(request["Statement"], request.get("Parameters") or [])
        table = find(statement.table)
        write = statement.write(table, request.get("ReturnValuesOnConditionCheckFailure") == "ALL_OLD")
        return _perform(write, statement.returned, capacity)
    except AwsError as error:
        return _error(_ERROR_CODES.get(error.code, error.code), error.message)


def _perform(write: Write, wanted: str, capacity: Capacity) -> Answer:
    try:
        outcome = write.outcome()
    except ConditionFailedError as failure:
        capacity.refused(write.table, failure.existing)
        shown = {"Item": failure.existing} if write.shows_old and failure.existing else {}
        return _error("ConditionalCheckFailed", str(failure), shown)
    capacity.wrote(write.table, outcome.old, outcome.new)
    outcome.commit()
    returned = outcome.returned(wanted)
    return {"TableName": write.table.name, **({"Item": returned} if returned else {})}


# https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchStatementError.html
_ERROR_CODES = {"ValidationException": "ValidationError", "ResourceNotFoundException": "ResourceNotFound"}


def _error(code: str, message: str, more: Mapping[str, Any] | None = None) -> Answer:
    return {"Error": {"Code": code, "Message": message, **(more or {})}}


def _present(item: Item | None) -> Iterator[Item]:
    if item is not None:
        yield item
