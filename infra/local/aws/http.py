"""The model over HTTP, so that the AWS CLI and other languages' SDKs reach it: `aws --endpoint-url ...`."""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from infra.local.aws import wire
from infra.local.aws.messages import Answer, Request
from infra.local.aws.model import LocalAws

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

# Long polls each hold a thread for as long as they wait.
_THREADS = 64


def app(aws: LocalAws) -> Application:
    """An ASGI application that answers every service's requests on one address."""
    threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="aws")

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _lifespan(receive, send)
            return
        request = await _request(scope, receive)
        answer = await asyncio.get_running_loop().run_in_executor(threads, wire.answer, aws, request)
        await _send(send, answer)

    return application


async def _lifespan(receive: Receive, send: Send) -> None:
    while True:
        event = (await receive())["type"]
        await send({"type": f"{event}.complete"})
        if event == "lifespan.shutdown":
            return


async def _request(scope: Scope, receive: Receive) -> Request:
    headers = {name.decode().lower(): value.decode("latin-1") for name, value in scope["headers"]}
    body = bytearray()
    more = True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    path = (scope.get("raw_path") or scope["path"].encode()).decode()
    query = scope.get("query_string", b"").decode()
    url = f"http://{headers.get('host', 'localhost')}{path}{f'?{query}' if query else ''}"
    return Request(scope["method"], url, headers, bytes(body))


async def _send(send: Send, answer: Answer) -> None:
    headers = [(name.encode(), value.encode("latin-1")) for name, value in answer.headers.items()]
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": answer.body})
