"""The local run's front door: the template's HTTP API, and pages to look at what it did."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from infra.local.http_api import PAYLOAD_LIMIT_BYTES
from infra.local.http_messages import HttpAnswer, HttpRequest

Handle = Callable[[HttpRequest], HttpAnswer]


def api_app(handle: Handle, pool: Executor, pages: ASGIApp, is_page: Callable[[str, str], bool]) -> ASGIApp:
    """Return an application that gives requests to `handle` on a thread of `pool`, and pages to `pages`."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        if is_page(scope["method"], scope["path"]):
            await pages(scope, receive, send)
            return
        request = _request(scope, await _body(receive))
        answer = await asyncio.get_running_loop().run_in_executor(pool, handle, request)
        await _send(answer, send)

    return app


def _request(scope: Scope, body: bytes) -> HttpRequest:
    headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]]
    client = scope.get("client") or ("127.0.0.1", 0)
    # The raw path: an encoded slash is no separator.
    path = scope["raw_path"].decode("ascii")
    query = scope["query_string"].decode("ascii")
    return HttpRequest(scope["method"], path, query, headers, body, client[0])


async def _body(receive: Receive) -> bytes:
    """Read the body, but no further than what shows that it is too long."""
    chunks: list[bytes] = []
    length = 0
    more = True
    while more and length <= PAYLOAD_LIMIT_BYTES:
        message: Message = await receive()
        chunks.append(message.get("body", b""))
        length += len(chunks[-1])
        more = message.get("more_body", False)
    return b"".join(chunks)


async def _send(answer: HttpAnswer, send: Send) -> None:
    headers = [
        (name.encode("latin-1"), value.encode("latin-1"))
        for name, value in answer.headers.items()
        if name != "content-length"
    ]
    headers += [(b"set-cookie", cookie.encode("latin-1")) for cookie in answer.cookies]
    if answer.status not in (204, 304):
        headers.append((b"content-length", str(len(answer.body)).encode()))
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": answer.body})
