"""The operations of Amazon DynamoDB.

https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_Operations_Amazon_DynamoDB.html
"""

import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from infra.local.aws.dynamodb import batches, writes
from infra.local.aws.dynamodb.capacity import Capacity
from infra.local.aws.dynamodb.expressions import projections
from infra.local.aws.dynamodb.expressions.scope import Scope
from infra.local.aws.dynamodb.queries import Query
from infra.local.aws.dynamodb.scans import scan
from infra.local.aws.dynamodb.stream import TIME_TO_LIVE, Stream
from infra.local.aws.dynamodb.table import Table
from infra.local.aws.dynamodb.transactions import Transactions
from infra.local.aws.dynamodb.values import canonical_item, invalid
from infra.local.aws.dynamodb.writes import ConditionFailedError, Write
from infra.local.aws.errors import AwsError
from infra.local.aws.region import Region

Params = Mapping[str, Any]
Answer = dict[str, Any]

_TABLE_NAME = re.compile(r"[A-Za-z0-9_.-]{3,255}")
_RETURNED = {
    "PutItem": ("NONE", "ALL_OLD"),
    "DeleteItem": ("NONE", "ALL_OLD"),
    "UpdateItem": ("NONE", "ALL_OLD", "UPDATED_OLD", "ALL_NEW", "UPDATED_NEW"),
}


class DynamoDb:
    """All tables of the account."""

    def __init__(self, region: Region) -> None:
        self._region = region
        self._transactions = Transactions(region, self.table)
        self.tables: dict[str, Table] = {}

    def table(self, name: str) -> Table:
        """A table by its name or ARN; ResourceNotFoundException when there is none."""
        found = self.tables.get(name.rpartition("/")[2])
        if found is None:
            raise AwsError(
                "ResourceNotFoundException", f"Requested resource not found: Table: {name} not found"
            )
        return found

    def table_of_stream(self, arn: str) -> Table:
        """The table whose stream has that ARN."""
        for table in self.tables.values():
            if table.stream is not None and table.stream.arn == arn:
                return table
        raise AwsError("ResourceNotFoundException", f"Requested resource not found: Stream: {arn} not found")

    def stream(self, arn: str) -> Stream:
        stream = self.table_of_stream(arn).stream
        if stream is None:
            raise RuntimeError("a table found by its stream has one")
        return stream

    def expire(self) -> int:
        """Delete what has expired, as AWS does within days of it; returns how many items.

        Until then expired items stay readable. Their REMOVE records name the service as the user.
        https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/howitworks-ttl.html
        """
        with self._region.changed:
            expired = [(table, key) for table in self.tables.values() for key in table.expired(self._now())]
            for table, key in expired:
                table.store(key, None, TIME_TO_LIVE)
            return len(expired)

    def create_table(self, params: Params) -> Answer:
        name = params["TableName"]
        if not _TABLE_NAME.fullmatch(name):
            raise invalid("TableName must be at least 3 characters long and at most 255 characters long")
        if name in self.tables:
            raise AwsError("ResourceInUseException", f"Table already exists: {name}")
        table = self.tables[name] = Table(self._region, params)
        return {"TableDescription": _description(table, params, self._region.clock.now())}

    def update_time_to_live(self, params: Params) -> Answer:
        specification = params["TimeToLiveSpecification"]
        table = self.table(params["TableName"])
        table.time_to_live = specification["AttributeName"] if specification["Enabled"] else None
        return {"TimeToLiveSpecification": specification}

    def get_item(self, params: Params) -> Answer:
        table, scope, capacity = self.table(params["TableName"]), Scope(params), self._capacity()
        text = params.get("ProjectionExpression")
        projection = None if text is None else projections.parse(text)
        scope.check([] if projection is None else [("ProjectionExpression", projection.references)])
        consistent = bool(params.get("ConsistentRead"))
        item = table.get(table.schema.of_key(canonical_item(params["Key"])), consistent)
        capacity.read(table, [] if item is None else [item], consistent)
        found = (
            {} if item is None else {"Item": item if projection is None else projection.apply(item, scope)}
        )
        return {**found, **capacity.answer(params)}

    def put_item(self, params: Params) -> Answer:
        return self._write("PutItem", writes.put, params)

    def update_item(self, params: Params) -> Answer:
        return self._write("UpdateItem", writes.update, params)

    def delete_item(self, params: Params) -> Answer:
        return self._write("DeleteItem", writes.delete, params)

    def query(self, params: Params) -> Answer:
        capacity = self._capacity()
        answer = Query(self.table(params["TableName"]), params).run(capacity)
        return {**answer, **capacity.answer(params)}

    def scan(self, params: Params) -> Answer:
        capacity = self._capacity()
        answer = scan(self.table(params["TableName"]), params, capacity)
        return {**answer, **capacity.answer(params)}

    def transact_write_items(self, params: Params) -> Answer:
        capacity = self._capacity()
        self._transactions.write(params, capacity)
        return capacity.answers(params)

    def batch_get_item(self, params: Params) -> Answer:
        capacity = self._capacity()
        partial = self._region.switches.is_partial("dynamodb", "BatchGetItem")
        return {**batches.get(self.table, params, capacity, partial), **capacity.answers(params)}

    def batch_execute_statement(self, params: Params) -> Answer:
        capacity = self._capacity()
        partial = self._region.switches.is_partial("dynamodb", "BatchExecuteStatement")
        return {**batches.execute(self.table, params, capacity, partial), **capacity.answers(params)}

    def _write(self, operation: str, read: Callable[[Table, Params], Write], params: Params) -> Answer:
        capacity = self._capacity()
        table, wanted = self.table(params["TableName"]), params.get("ReturnValues") or "NONE"
        if wanted not in _RETURNED[operation]:
            raise invalid(f"Return values set to invalid value: {wanted}")
        write = read(table, params)
        try:
            outcome = write.outcome()
        except ConditionFailedError as failure:
            capacity.refused(table, failure.existing)
            raise _condition_failed(write, failure) from failure
        capacity.wrote(table, outcome.old, outcome.new)
        outcome.commit()
        returned = outcome.returned(wanted)
        return {**({"Attributes": returned} if returned else {}), **capacity.answer(params)}

    def _capacity(self) -> Capacity:
        return Capacity(self._region.usage)

    def _now(self) -> Decimal:
        return Decimal(self._region.now_ms()) / 1000


def _condition_failed(write: Write, failure: ConditionFailedError) -> AwsError:
    shown = {"Item": failure.existing} if write.shows_old and failure.existing is not None else {}
    return AwsError("ConditionalCheckFailedException", str(failure), fields=shown)


def _description(table: Table, params: Params, now: float) -> Answer:
    """https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TableDescription.html"""
    stream: Answer = {}
    if table.stream is not None:
        stream = {
            "StreamSpecification": {"StreamEnabled": True, "StreamViewType": table.stream.view},
            "LatestStreamArn": table.stream.arn,
            "LatestStreamLabel": table.stream.label,
        }
    return {
        "TableName": table.name,
        "TableArn": table.arn,
        "TableStatus": "ACTIVE",
        "CreationDateTime": now,
        "KeySchema": table.schema.shown(),
        "AttributeDefinitions": params["AttributeDefinitions"],
        "ItemCount": 0,
        **stream,
    }
