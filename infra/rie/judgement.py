"""Whether what a function answered is what Lambda takes from a function of its trigger."""

from __future__ import annotations

from typing import Any

from infra.local.functions import Invocation

TRIGGERS = ("api", "queue", "stream", "schedule")


def trigger_of(handler: str) -> str:
    """`handlers.queue_receipts.handler` → `queue`: entries are named by what triggers them."""
    name = handler.split(".")[-2]
    return next(trigger for trigger in TRIGGERS if name.startswith(f"{trigger}_"))


def wrong(invocation: Invocation, trigger: str) -> str | None:
    """What is wrong with an invocation; None when nothing is."""
    if invocation.error is not None:
        return f"{invocation.error.kind}: {invocation.error.message}"
    if trigger == "api" and not _is_response(invocation.answer):
        return f"not a response of payload format 2.0: {invocation.answer!r}"
    if trigger in ("queue", "stream") and not _is_batch_response(invocation.answer, invocation.event):
        return f"not a partial batch response: {invocation.answer!r}"
    return None


def _is_response(answer: Any) -> bool:
    """docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html"""
    return (
        isinstance(answer, dict)
        and isinstance(answer.get("statusCode"), int)
        and 200 <= answer["statusCode"] < 500
        and isinstance(answer.get("headers", {}), dict)
        and isinstance(answer.get("body", ""), str)
    )


def _is_batch_response(answer: Any, event: Any) -> bool:
    """docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html#services-sqs-batchfailurereporting
    and, for streams, services-ddb-batchfailurereporting.html"""
    if not isinstance(answer, dict) or not isinstance(answer.get("batchItemFailures"), list):
        return False
    known = {_identifier(record) for record in event["Records"]}
    return {failure["itemIdentifier"] for failure in answer["batchItemFailures"]} <= known


def _identifier(record: Any) -> str:
    return str(record["messageId"] if "messageId" in record else record["dynamodb"]["SequenceNumber"])
