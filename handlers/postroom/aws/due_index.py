"""The index of what is due later, over DynamoDB."""

from dataclasses import dataclass

from ..storage import Key
from .tables import DynamoStore


@dataclass(frozen=True, slots=True)
class DynamoDueIndex:
    store: DynamoStore

    def due(self, shard: str, before_ms: int, limit: int) -> list[Key]:
        answer = self.store.query(
            "shop",
            IndexName="due",
            KeyConditionExpression="due = :shard AND dueAt <= :before",
            ExpressionAttributeValues={":shard": {"S": shard}, ":before": {"N": str(before_ms)}},
            Limit=limit,
        )
        return [Key("shop", row["pk"]["S"], row["sk"]["S"]) for row in answer["Items"]]
