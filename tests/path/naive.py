"""Consumers as they are written before the trouble starts: what they do wrong is what the tests show."""

import json
from collections.abc import Callable
from typing import Any

from handlers.postroom.aws.deployment import Deployment
from handlers.postroom.aws.entry import Entry
from handlers.shop.loyalty import points_for
from tests.path.mailer import Killed

Effect = Callable[[Deployment, dict[str, Any]], None]


def naive(effect: Effect) -> Entry:
    """A consumer that does its work for each record and remembers nothing."""

    def bind(deployment: Deployment) -> Callable[[Any, Any], Any]:
        def handle(event: Any, _context: Any) -> dict[str, Any]:
            for record in event["Records"]:
                effect(deployment, json.loads(record["body"]))
            return {"batchItemFailures": []}

        return handle

    return Entry(bind)


def adding_to_a_counter() -> Entry:
    """Loyalty as one `ADD`: every delivery counts."""
    return naive(add_points)


def marking_afterwards(dies: list[bool]) -> Entry:
    """Effect, then marker; `dies` says of each run whether the process ends between the two."""

    def effect(deployment: Deployment, event: dict[str, Any]) -> None:
        if not is_marked(deployment, event):
            add_points(deployment, event)
            if dies.pop(0):
                raise Killed
            mark(deployment, event)

    return naive(effect)


def marking_beforehand(dies: list[bool]) -> Entry:
    """Marker, then effect; `dies` as above."""

    def effect(deployment: Deployment, event: dict[str, Any]) -> None:
        if not is_marked(deployment, event):
            mark(deployment, event)
            if dies.pop(0):
                raise Killed
            add_points(deployment, event)

    return naive(effect)


def add_points(deployment: Deployment, event: dict[str, Any]) -> None:
    deployment.client("dynamodb").update_item(
        TableName=deployment.setting("SHOP_TABLE"),
        Key=_key(f"customer-{event['data']['customerId']}", "counter"),
        UpdateExpression="ADD points :more",
        ExpressionAttributeValues={":more": {"N": str(points_for(event["data"]["amount"]))}},
    )


def is_marked(deployment: Deployment, event: dict[str, Any]) -> bool:
    answer = deployment.client("dynamodb").get_item(
        TableName=deployment.setting("SHOP_TABLE"), Key=_key(event["id"], "marker"), ConsistentRead=True
    )
    return "Item" in answer


def mark(deployment: Deployment, event: dict[str, Any]) -> None:
    deployment.client("dynamodb").put_item(
        TableName=deployment.setting("SHOP_TABLE"), Item=_key(event["id"], "marker")
    )


def _key(pk: str, sk: str) -> dict[str, Any]:
    return {"pk": {"S": pk}, "sk": {"S": sk}}
