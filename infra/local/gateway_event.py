"""A request in the shape that API Gateway hands to a function: payload format 2.0.

Source: https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl, unquote
from uuid import uuid4

from infra.local.http_messages import HttpRequest

API_ID = "local"
_TEXT_TYPES = ("text/", "application/json", "application/xml", "application/javascript")


def gateway_event(
    request: HttpRequest,
    route_key: str,
    path_parameters: Mapping[str, str],
    claims: Mapping[str, Any] | None,
    account: str,
    now: float,
) -> dict[str, Any]:
    """Return the event. `now` is epoch seconds; `claims` are those of a verified token, if one is needed."""
    headers = _joined(request.headers)
    cookies = headers.pop("cookie", "")
    event: dict[str, Any] = {
        "version": "2.0",
        "routeKey": route_key,
        "rawPath": request.path,
        "rawQueryString": request.query,
        "headers": headers,
        "requestContext": _context(request, headers, route_key, claims, account, now),
        "isBase64Encoded": False,
    }
    if cookies:
        event["cookies"] = [cookie.strip() for cookie in cookies.split(";")]
    if request.query:
        event["queryStringParameters"] = _joined(parse_qsl(request.query, keep_blank_values=True))
    if path_parameters:
        event["pathParameters"] = {name: unquote(value) for name, value in path_parameters.items()}
    if request.body:
        event["body"], event["isBase64Encoded"] = _body(request.body, headers.get("content-type", ""))
    return event


def _context(
    request: HttpRequest,
    headers: Mapping[str, str],
    route_key: str,
    claims: Mapping[str, Any] | None,
    account: str,
    now: float,
) -> dict[str, Any]:
    host = headers.get("host", "localhost")
    context: dict[str, Any] = {
        "accountId": account,
        "apiId": API_ID,
        "domainName": host,
        "domainPrefix": host.partition(".")[0],
        "http": {
            "method": request.method,
            "path": request.path,
            "protocol": "HTTP/1.1",
            "sourceIp": request.source_ip,
            "userAgent": headers.get("user-agent", ""),
        },
        "requestId": uuid4().hex[:16],
        "routeKey": route_key,
        "stage": "$default",
        "time": datetime.fromtimestamp(now, UTC).strftime("%d/%b/%Y:%H:%M:%S +0000"),
        "timeEpoch": int(now * 1000),
    }
    if claims is not None:
        texts = {name: _claim(value) for name, value in claims.items()}
        context["authorizer"] = {"jwt": {"claims": texts, "scopes": None}}
    return context


def _joined(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Duplicates are combined with commas."""
    joined: dict[str, str] = {}
    for name, value in pairs:
        joined[name] = f"{joined[name]},{value}" if name in joined else value
    return joined


def _claim(value: Any) -> str:
    """The gateway hands every claim on as text: `true`, `1700000000`, `[a b]`."""
    if isinstance(value, list):
        return f"[{' '.join(_claim(item) for item in value)}]"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _body(body: bytes, content_type: str) -> tuple[str, bool]:
    if content_type.lower().startswith(_TEXT_TYPES):
        try:
            return body.decode(), False
        except UnicodeDecodeError:
            pass
    return base64.b64encode(body).decode(), True
