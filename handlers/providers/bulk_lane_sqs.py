"""The bulk lane: recipients from the Shop table, messages straight into the lane's queue."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..postroom.aws.bulk_queue import SqsBulkQueue
from ..postroom.aws.deployment import Deployment
from ..postroom.aws.tables import DynamoStore
from ..postroom.bulk import BulkSender, Message
from ..postroom.events import Event
from ..shop.audiences import Audience, number_of, recipient_sort_key
from ..shop.ports import RecipientPage


@dataclass(frozen=True, slots=True)
class SqsBulkLane:
    store: DynamoStore
    sender: BulkSender
    step_recipients: int

    def page(self, audience: Audience, after: int, last: int, limit: int) -> RecipientPage:
        """One `Query`, of keys only, strongly consistent: who had joined by the start is in it."""
        if after >= last:
            return RecipientPage([], more=False)
        answer = self.store.query(
            "shop",
            KeyConditionExpression="pk = :audience AND sk BETWEEN :first AND :last",
            ExpressionAttributeValues={
                ":audience": {"S": audience.partition},
                ":first": {"S": recipient_sort_key(after + 1)},
                ":last": {"S": recipient_sort_key(last)},
            },
            ProjectionExpression="sk",
            ConsistentRead=True,
            Limit=limit,
        )
        numbers = [number_of(item["sk"]["S"]) for item in answer["Items"]]
        return RecipientPage(numbers, more="LastEvaluatedKey" in answer)

    def send(self, events: Sequence[Event[Any]]) -> None:
        self.sender.send([Message.of(event) for event in events])


def from_deployment(deployment: Deployment) -> SqsBulkLane:
    queue = SqsBulkQueue(deployment, deployment.setting("BULK_QUEUE_URL"))
    return SqsBulkLane(
        DynamoStore(deployment),
        BulkSender(queue, lambda longest: deployment.sleep(deployment.chance() * longest)),
        step_recipients=int(deployment.setting("STEP_RECIPIENTS")),
    )
