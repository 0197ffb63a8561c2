"""Requests as API Gateway hands them to a function, and the problem documents of its answers."""

import base64
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from handlers.postroom.http import Answer

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
PLAIN_HEADERS = {"content-type": "application/json", "idempotency-key": "key-1"}


def gateway_event(
    body: Any = None,
    *,
    caller: str | None = "alice",
    headers: Mapping[str, str] | None = PLAIN_HEADERS,
    encoded: bool = False,
    path_parameters: Mapping[str, str] | None = None,
    method: str = "POST",
    query: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """A request in payload format 2.0; a body that is no text or bytes is sent as JSON."""
    raw = body if isinstance(body, str | bytes) else json.dumps(body)
    binary = encoded or isinstance(raw, bytes)
    text = _base64(raw) if binary else raw
    authorizer = {"authorizer": {"jwt": {"claims": {"sub": caller}}}} if caller is not None else {}
    context = {"http": {"method": method}, **authorizer}
    event = {"version": "2.0", "headers": headers, "requestContext": context, "body": text}
    asked = {"pathParameters": path_parameters, "queryStringParameters": query}
    return {**event, **asked, "isBase64Encoded": binary}


def _base64(raw: str | bytes) -> str:
    return base64.b64encode(raw.encode() if isinstance(raw, str) else raw).decode()


def problem_of(refusal: Answer) -> dict[str, Any]:
    """The problem document, checked for what every one must have."""
    assert refusal.headers["Content-Type"] == "application/problem+json"
    document: dict[str, Any] = json.loads(refusal.body)
    assert document["status"] == refusal.status
    assert document["title"]
    assert document["detail"]
    return document


def fields_of(refusal: Answer) -> list[str]:
    errors = problem_of(refusal).get("errors", [])
    assert all(error["reason"] for error in errors)
    return [error["field"] for error in errors]
