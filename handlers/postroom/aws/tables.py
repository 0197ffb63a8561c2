"""The `Store` over DynamoDB: consistent reads, conditional writes, transactions, and the relay's marks."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from ..errors import CancelledBecause, ConditionFailed, Permanent, TransactionCancelled, Transient
from ..storage import Item, Key, Table, Update, Write
from .deployment import Deployment
from .expressions import from_attributes, key_attributes, request_of
from .sdk_errors import no_answer

READ_KEYS = 100
"""docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchGetItem.html"""
MARK_STATEMENTS = 25
"""docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchExecuteStatement.html"""
LEFTOVER_TRIES = 5
_LEFTOVER_PAUSE_SECONDS = 0.05

_SINGLE = {"Put": "put_item", "Update": "update_item", "Delete": "delete_item"}

T = TypeVar("T")


class DynamoStore:
    """DynamoDB as the engine sees it. Raises `Transient` when AWS is busy, slow or out of reach."""

    def __init__(self, deployment: Deployment) -> None:
        self._deployment = deployment
        self._names: dict[Table, str] = {}

    def read(self, keys: Iterable[Key]) -> dict[Key, Item]:
        wanted = list(keys)
        if len(wanted) == 1:
            return self._read_one(wanted[0])
        found: dict[Key, Item] = {}
        for chunk in chunks(wanted, READ_KEYS):
            found.update(self._read_chunk(chunk))
        return found

    def write(self, write: Write) -> None:
        operation, request = request_of(write, self._table_name(write.key.table))
        if operation not in _SINGLE:
            raise TypeError("a check stands only inside a transaction")
        self._call(_SINGLE[operation], **request)

    def change(self, update: Update) -> Item:
        _, request = request_of(update, self._table_name(update.key.table))
        return from_attributes(self._call("update_item", ReturnValues="ALL_NEW", **request)["Attributes"])

    def transact(self, writes: Sequence[Write]) -> None:
        requests = [request_of(write, self._table_name(write.key.table)) for write in writes]
        self._call("transact_write_items", TransactItems=[dict([request]) for request in requests])

    def mark_published(self, keys: Sequence[Key]) -> None:
        """Take rows out of the index of the unpublished, in batches; a row that is gone is fine.

        A batch may fail in part inside an answer of 200. Raises `Transient` when some stay unmarked.
        """
        for chunk in chunks(list(keys), MARK_STATEMENTS):
            for _ in self._tries():
                chunk = self._mark(chunk)
                if not chunk:
                    break
            else:
                raise Transient(f"{len(chunk)} published rows could not be marked")

    def _mark(self, keys: list[Key]) -> list[Key]:
        """Mark the rows and return those that are still to be marked."""
        statements = [
            {
                "Statement": f'UPDATE "{self._table_name(key.table)}" REMOVE unpublished WHERE pk=? AND sk=?',
                "Parameters": [{"S": key.pk}, {"S": key.sk}],
            }
            for key in keys
        ]
        answers = self._call("batch_execute_statement", Statements=statements)["Responses"]
        return [
            key
            for key, answer in zip(keys, answers, strict=True)
            if answer.get("Error", {}).get("Code") not in (None, "ConditionalCheckFailed")
        ]

    def outstanding(self, shard: str, before_ms: int, limit: int) -> list[Key]:
        """Rows of one shard born before the given epoch milliseconds and still unpublished, oldest first."""
        answer = self.query(
            "shop",
            IndexName="unpublished",
            KeyConditionExpression="unpublished = :shard AND bornAt < :before",
            ExpressionAttributeValues={":shard": {"S": shard}, ":before": {"N": str(before_ms)}},
            Limit=limit,
        )
        return [Key("shop", row["pk"]["S"], row["sk"]["S"]) for row in answer["Items"]]

    def oldest_outstanding(self, shard: str) -> int | None:
        answer = self.query(
            "shop",
            IndexName="unpublished",
            KeyConditionExpression="unpublished = :shard",
            ExpressionAttributeValues={":shard": {"S": shard}},
            Limit=1,
        )
        return next((int(row["bornAt"]["N"]) for row in answer["Items"]), None)

    def query(self, table: Table, **request: Any) -> Any:
        """One page of a `Query`, as DynamoDB answers it."""
        return self._call("query", TableName=self._table_name(table), **request)

    def _read_one(self, key: Key) -> dict[Key, Item]:
        answer = self._call(
            "get_item",
            TableName=self._table_name(key.table),
            Key=key_attributes(key),
            ConsistentRead=True,
        )
        return {key: from_attributes(answer["Item"])} if "Item" in answer else {}

    def _read_chunk(self, keys: list[Key]) -> dict[Key, Item]:
        tables = {self._table_name(table): table for table in dict.fromkeys(key.table for key in keys)}
        wanted: Mapping[str, Any] = {
            name: {
                "Keys": [key_attributes(key) for key in keys if key.table == table],
                "ConsistentRead": True,
            }
            for name, table in tables.items()
        }
        found: dict[Key, Item] = {}
        for _ in self._tries():
            answer = self._call("batch_get_item", RequestItems=wanted)
            for name, items in answer["Responses"].items():
                for item in map(from_attributes, items):
                    found[Key(tables[name], item["pk"], item["sk"])] = item
            wanted = answer.get("UnprocessedKeys")
            if not wanted:
                return found
        raise Transient("the database left part of a batch read unanswered")

    def _tries(self) -> Iterator[int]:
        """Rounds for what a batch left over, with a pause of growing chance between them."""
        for round_ in range(LEFTOVER_TRIES):
            if round_:
                pause_seconds = _LEFTOVER_PAUSE_SECONDS * 2**round_
                self._deployment.sleep(self._deployment.chance() * pause_seconds)
            yield round_

    def _table_name(self, table: Table) -> str:
        if table not in self._names:
            self._names[table] = self._deployment.setting(f"{table.upper()}_TABLE")
        return self._names[table]

    def _call(self, operation: str, **request: Any) -> Any:
        from botocore.exceptions import ClientError

        try:
            return getattr(self._deployment.client("dynamodb"), operation)(**request)
        except ClientError as error:
            raise _translated(error) from error
        except no_answer() as error:
            raise Transient(f"the database cannot be reached: {type(error).__name__}") from error


def _translated(error: Any) -> Exception:
    """An AWS error in the engine's words.

    docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.Errors.html
    """
    answer = error.response
    match answer["Error"]["Code"]:
        case "ConditionalCheckFailedException":
            return ConditionFailed(from_attributes(answer.get("Item")) or None)
        case "TransactionCanceledException":
            return TransactionCancelled(tuple(map(_reason, answer.get("CancellationReasons", ()))))
        case "ValidationException" | "ItemCollectionSizeLimitExceededException":
            return Permanent(f"the database refuses the request: {answer['Error'].get('Message', '')}")
        case code:
            return Transient(f"the database answered {code}")


def _reason(reason: Mapping[str, Any]) -> CancelledBecause | None:
    if reason.get("Code", "None") == "None":
        return None
    old = from_attributes(reason.get("Item")) or None
    return CancelledBecause(reason["Code"], reason.get("Message") or "", old)


def chunks(values: list[T], size: int) -> Iterator[list[T]]:
    for start in range(0, len(values), size):
        yield values[start : start + size]
