"""The owner's index of open jobs over DynamoDB."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..job_lists import Page, Place
from .tables import DynamoStore


@dataclass(frozen=True, slots=True)
class DynamoJobIndex:
    store: DynamoStore

    def page(self, owner_and_state: str, limit: int, after: Place | None) -> Page:
        start = {"ExclusiveStartKey": _key(after, owner_and_state)} if after else {}
        answer = self.store.query(
            "jobs",
            IndexName="ownedOpen",
            KeyConditionExpression="ownedOpen = :partition",
            ExpressionAttributeValues={":partition": {"S": owner_and_state}},
            ScanIndexForward=False,
            Limit=limit,
            **start,
        )
        last = answer.get("LastEvaluatedKey")
        return Page([_place(item) for item in answer["Items"]], _place(last) if last else None)


def _key(place: Place, owner_and_state: str) -> dict[str, Any]:
    return {
        "pk": {"S": place.event_id},
        "sk": {"S": place.subscriber},
        "ownedOpen": {"S": owner_and_state},
        "since": {"N": str(place.since)},
    }


def _place(key: Mapping[str, Any]) -> Place:
    return Place(int(key["since"]["N"]), key["pk"]["S"], key["sk"]["S"])
