"""The sparse index that lists items by a name that they carry, in the order of their `listedAt`."""

from collections.abc import Iterator, Sequence
from typing import Any

from ..storage import Item
from .expressions import from_attributes
from .tables import DynamoStore

_INDEX = "listed"


class DynamoLists:
    """Reads of the index are eventually consistent, as those of every global index are."""

    def __init__(self, store: DynamoStore) -> None:
        self._store = store

    def page(
        self, name: str, limit: int, after: tuple[int, str] | None
    ) -> tuple[Sequence[Item], tuple[int, str] | None]:
        """At most `limit` items of a list, oldest first, and the place of the last when there may be more.

        A place is an item's `listedAt` (epoch milliseconds) and its partition key.
        """
        start = {"ExclusiveStartKey": _key(name, after)} if after else {}
        answer = self._query("listed = :name", {":name": {"S": name}}, Limit=limit, **start)
        last = answer.get("LastEvaluatedKey")
        items = [from_attributes(item) for item in answer["Items"]]
        return items, (int(last["listedAt"]["N"]), last["pk"]["S"]) if last else None

    def between(self, name: str, since_ms: int, until_ms: int) -> Iterator[Item]:
        """Every item of a list from `since_ms` up to but not at `until_ms` (epoch milliseconds)."""
        values = {":name": {"S": name}, ":since": {"N": str(since_ms)}, ":last": {"N": str(until_ms - 1)}}
        start: dict[str, Any] = {}
        while True:
            answer = self._query("listed = :name AND listedAt BETWEEN :since AND :last", values, **start)
            yield from map(from_attributes, answer["Items"])
            if "LastEvaluatedKey" not in answer:
                return
            start = {"ExclusiveStartKey": answer["LastEvaluatedKey"]}

    def _query(self, condition: str, values: dict[str, Any], **more: Any) -> Any:
        return self._store.query(
            "shop",
            IndexName=_INDEX,
            KeyConditionExpression=condition,
            ExpressionAttributeValues=values,
            **more,
        )


def _key(name: str, place: tuple[int, str]) -> dict[str, Any]:
    at, pk = place
    return {
        "pk": {"S": pk},
        "sk": {"S": "entity"},
        "listed": {"S": name},
        "listedAt": {"N": str(at)},
    }
