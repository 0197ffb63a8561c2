"""A receiver of webhooks that keeps what it gets, and checks each signature as its owner would."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from handlers.postroom.webhooks.signing import is_signed
from infra.local.providers.outages import Switch

Secrets = Callable[[str], Sequence[str]]
"""The secrets of whoever registered a URL."""


@dataclass(frozen=True)
class Received:
    """One request. `at` is epoch seconds; `valid` tells whether a known secret of its URL has signed it."""

    id: str
    at: float
    url: str
    body: str
    status: int
    valid: bool
    signatures: int


class WebhookReceiver:
    """Answers 204 for what is signed, 401 for what is not, 503 while its switch is off."""

    def __init__(self, switch: Switch, secrets: Secrets) -> None:
        self.switch = switch
        self._secrets = secrets
        self._received: list[Received] = []
        self._lock = threading.Lock()

    def take(self, url: str, headers: Mapping[str, str], body: bytes) -> int:
        """Keep a request and return the status to answer. `headers` have lower-case names."""
        now = self.switch.clock()
        valid = any(is_signed(secret, headers, body, now) for secret in self._secrets(url))
        status = 503 if self.switch.is_down else 204 if valid else 401
        signatures = len(headers.get("webhook-signature", "").split())
        text = body.decode("utf-8", "replace")
        received = Received(headers.get("webhook-id", ""), now, url, text, status, valid, signatures)
        with self._lock:
            self._received.append(received)
        return status

    @property
    def received(self) -> list[Received]:
        """Every request, the refused ones included, oldest first."""
        with self._lock:
            return list(self._received)


def webhooks_app(receiver: WebhookReceiver) -> ASGIApp:
    """Return an application that serves `receiver`."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            response = await _answer(receiver, Request(scope, receive))
            await response(scope, receive, send)

    return app


async def _answer(receiver: WebhookReceiver, request: Request) -> Response:
    if receiver.switch.latency:
        await asyncio.sleep(receiver.switch.latency)
    status = receiver.take(str(request.url), request.headers, await request.body())
    return Response(None, 204) if status == 204 else PlainTextResponse("not taken\n", status)
