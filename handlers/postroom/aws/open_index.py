"""The operator's index of open jobs over DynamoDB."""

from collections.abc import Sequence
from dataclasses import dataclass

from ..open_jobs import OpenJob
from .tables import DynamoStore


@dataclass(frozen=True, slots=True)
class DynamoOpenJobs:
    store: DynamoStore

    def oldest(self, state: str, limit: int) -> Sequence[OpenJob]:
        """One page: an entry has some 150 bytes, and a page up to 1 MB."""
        answer = self.store.query(
            "jobs",
            IndexName="open",
            KeyConditionExpression="#open = :state",
            ExpressionAttributeNames={"#open": "open"},
            ExpressionAttributeValues={":state": {"S": state}},
            Limit=limit,
        )
        return [OpenJob(item["sk"]["S"], int(item["since"]["N"])) for item in answer["Items"]]
