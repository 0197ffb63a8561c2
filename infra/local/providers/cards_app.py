"""The card gateway over HTTP."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from infra.local.providers.cards import CardGateway


def cards_app(gateway: CardGateway) -> ASGIApp:
    """Return an application that serves `gateway`."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            response = await _answer(gateway, Request(scope, receive))
            await response(scope, receive, send)

    return app


async def _answer(gateway: CardGateway, request: Request) -> Response:
    if gateway.switch.latency:
        await asyncio.sleep(gateway.switch.latency)
    if request.method == "GET" and request.url.path == "/charges":
        status, answer = gateway.listed(request.query_params)
    else:
        key = request.headers.get("idempotency-key", "")
        status, answer = gateway.post(request.url.path, key, _json(await request.body()))
    return JSONResponse(answer, status)


def _json(body: bytes) -> dict[str, Any]:
    try:
        value = json.loads(body)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
