"""The HTTP API: route, authorizer, payload format 2.0, answer, as API Gateway does them.

Sources: https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html
and http-api-jwt-authorizer.html.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from typing import Any

from infra.local.functions import Invocation
from infra.local.gateway_event import gateway_event
from infra.local.http_messages import HttpAnswer, HttpRequest
from infra.local.routes import Route, RouteTable
from infra.local.tokens import Issuer, UnauthorizedError

PAYLOAD_LIMIT_BYTES = 10 * 1024 * 1024
"""https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-quotas.html"""


class HttpApi:
    """One API of the template: its routes, each with its function and whether it needs a token."""

    def __init__(self, routes: Sequence[Route], issuer: Issuer | None, account: str) -> None:
        self.issuer = issuer
        self._routes = RouteTable(routes)
        self._account = account
        self.is_throttled = False
        """Every request is one too many, until this is taken back."""

    @property
    def routes(self) -> Sequence[Route]:
        return self._routes.routes

    def has_route(self, method: str, path: str) -> bool:
        """Whether a request would reach a function, token aside."""
        return self.route_of(method, path) is not None

    def route_of(self, method: str, path: str) -> str | None:
        """The key of the route that a request takes, None when there is none."""
        match = self._routes.match(method, path)
        return match[0].key if match else None

    def handle(self, request: HttpRequest, now: float) -> HttpAnswer:
        """Answer a request at the time `now` (epoch seconds)."""
        if self.is_throttled:
            # docs.aws.amazon.com/apigateway/latest/developerguide/http-api-throttling.html
            return _message(429, "Too Many Requests")
        if len(request.body) > PAYLOAD_LIMIT_BYTES:
            return _message(413, "Request Entity Too Large")
        match = self._routes.match(request.method, request.path)
        if match is None:
            return _message(404, "Not Found")
        route, parameters = match
        try:
            claims = self._claims(request) if route.authorized else None
        except UnauthorizedError:
            return _message(401, "Unauthorized", {"www-authenticate": "Bearer"})
        event = gateway_event(request, route.key, parameters, claims, self._account, now)
        return _answer(route.function.invoke(event))

    def _claims(self, request: HttpRequest) -> Mapping[str, Any]:
        value = request.header("authorization")
        if self.issuer is None or not value:
            raise UnauthorizedError("no token")
        scheme, _, token = value.partition(" ")
        return self.issuer.claims(token if scheme.lower() == "bearer" else value)


def _answer(invocation: Invocation) -> HttpAnswer:
    if invocation.error is not None:
        return _message(500, "Internal Server Error")
    answer = invocation.answer
    if not isinstance(answer, dict) or "statusCode" not in answer:
        # "If your Lambda function returns valid JSON and doesn't return a statusCode": 200, as JSON.
        text = answer if isinstance(answer, str) else json.dumps(answer)
        return HttpAnswer(200, {"content-type": "application/json"}, text.encode())
    try:
        return _explicit(answer)
    except (TypeError, ValueError, AttributeError):
        return _message(500, "Internal Server Error")


def _explicit(answer: Mapping[str, Any]) -> HttpAnswer:
    body = answer.get("body") or ""
    text = body if isinstance(body, str) else json.dumps(body)
    headers = {name.lower(): _header(value) for name, value in (answer.get("headers") or {}).items()}
    headers.setdefault("content-type", "text/plain;charset=utf-8")
    return HttpAnswer(
        int(answer["statusCode"]),
        headers,
        base64.b64decode(text) if answer.get("isBase64Encoded") else text.encode(),
        tuple(answer.get("cookies") or ()),
    )


def _header(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _message(status: int, text: str, headers: Mapping[str, str] | None = None) -> HttpAnswer:
    body = json.dumps({"message": text}, separators=(",", ":")).encode()
    return HttpAnswer(status, {"content-type": "application/json", **(headers or {})}, body)
