"""What came of orders, read from the tables, the mailbox and the bucket themselves."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from infra.local.local_run import LocalRun
from infra.local.queue_mapping import QueueMapping


@dataclass(frozen=True)
class Facts:
    """Reads the model directly: no call of these is any function's."""

    run: LocalRun

    def items(self, table: str) -> list[dict[str, Any]]:
        """A table's items, in DynamoDB's own notation (`{"S": ...}`)."""
        aws = self.run.aws
        with aws.region.changed:
            return [dict(item) for item in aws.dynamodb.table(self.run.stack.ref(table)).items]

    def orders(self) -> list[dict[str, Any]]:
        return [item for item in self.items("ShopTable") if item["sk"]["S"] == "entity"]

    def event_of(self, event_id: str) -> str:
        """The event as it was stored with its order."""
        events = (item["event"]["S"] for item in self.orders())
        return next(str(event) for event in events if json.loads(event)["id"] == event_id)

    def points(self, customer: str) -> int:
        rows = (item for item in self.items("ShopTable") if item["pk"]["S"] == f"customer-{customer}")
        return sum(int(row["points"]["N"]) for row in rows if "points" in row)

    def effects(self) -> Counter[str]:
        """How many effects of each kind there are, all orders together."""
        shop = self.items("ShopTable")
        with self.run.aws.region.changed:
            files = sum(len(bucket) for bucket in self.run.aws.s3.buckets.values())
        return Counter(
            {
                "orders": sum(item["sk"]["S"] == "entity" for item in shop),
                "picks": sum(item["sk"]["S"] == "pick" for item in shop),
                "credits": sum(item["sk"]["S"].startswith("points-") for item in shop),
                "mails": len(self.run.mailbox.mails),
                "invoices": files,
                "charges": len(self.run.gateway.charges),
            }
        )

    def queue(self, logical_id: str) -> tuple[int, int, int]:
        """Messages of a queue: waiting, in flight, delayed."""
        aws = self.run.aws
        with aws.region.changed:
            waiting, in_flight, delayed = aws.sqs.queue(self.run.stack.ref(logical_id)).counts()
        return waiting, in_flight, delayed

    def in_flight(self) -> int:
        """Messages that a function holds, of all queues that feed functions."""
        return sum(in_flight for _, in_flight, _ in self._counts())

    def backlog(self, queues: Iterable[str] | None = None) -> int:
        """Messages in these queues (logical ids), or in all that feed functions, whatever their state."""
        counts = self._counts() if queues is None else [self.queue(name) for name in queues]
        return sum(map(sum, counts))

    def is_work_left(self) -> bool:
        """Whether any message waits, or any event is still to be published."""
        return bool(self.backlog() or self.unpublished())

    def unpublished(self) -> int:
        """Events that are still to be published."""
        aws = self.run.aws
        with aws.region.changed:
            return sum(
                "unpublished" in item for item in aws.dynamodb.table(self.run.stack.ref("ShopTable")).items
            )

    def _counts(self) -> list[tuple[int, int, int]]:
        aws = self.run.aws
        fed = [mapping for mapping in self.run.stack.mappings if isinstance(mapping, QueueMapping)]
        with aws.region.changed:
            return [aws.sqs.queue(mapping.source_arn).counts() for mapping in fed]
