"""Servers on loopback, all in one event loop on a thread of its own."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import uvicorn
from starlette.types import ASGIApp

LOOPBACK = "127.0.0.1"
CLOSING_SECONDS = 2


class PortTakenError(OSError):
    """Another program listens on the port that was asked for."""


class Servers:
    """Serves HTTP applications and other protocols until it is closed."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="servers", daemon=True)
        self._http: dict[str, tuple[uvicorn.Server, Future[None]]] = {}
        self._other: list[asyncio.Server] = []
        self._thread.start()

    def http(self, app: ASGIApp, port: int = 0, closing_seconds: int = CLOSING_SECONDS) -> str:
        """Serve `app`; port 0 takes any free one. Returns the URL. Raises `PortTakenError`.

        When it is closed, what has begun is answered within `closing_seconds` or not at all.
        """
        listener = _listener(port)
        config = uvicorn.Config(
            app,
            http="httptools",
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            timeout_graceful_shutdown=closing_seconds,
        )
        server = uvicorn.Server(config)
        serving = asyncio.run_coroutine_threadsafe(server.serve(sockets=[listener]), self._loop)
        url = f"http://{LOOPBACK}:{listener.getsockname()[1]}"
        self._http[url] = (server, serving)
        return url

    def protocol(self, factory: Callable[[], asyncio.BaseProtocol], port: int = 0) -> int:
        """Serve another protocol. Returns its port. Raises `PortTakenError`."""
        listener = _listener(port)
        opening = self._loop.create_server(factory, sock=listener)
        self._other.append(asyncio.run_coroutine_threadsafe(opening, self._loop).result())
        return int(listener.getsockname()[1])

    def end(self, *urls: str) -> None:
        """Answer what has begun at these applications, then serve them no more."""
        ended = [self._http.pop(url) for url in urls]
        for server, _ in ended:
            server.should_exit = True
        for server, serving in ended:
            serving.result(timeout=(server.config.timeout_graceful_shutdown or 0) + CLOSING_SECONDS)

    def close(self) -> None:
        """Answer what has begun, then stop."""
        self.end(*self._http)
        asyncio.run_coroutine_threadsafe(self._close_rest(), self._loop).result(timeout=CLOSING_SECONDS)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=CLOSING_SECONDS)
        self._loop.close()

    async def _close_rest(self) -> None:
        for server in self._other:
            server.close()
        rest: list[asyncio.Task[Any]] = [
            task for task in asyncio.all_tasks() if task is not asyncio.current_task()
        ]
        for task in rest:
            task.cancel()
        await asyncio.gather(*rest, return_exceptions=True)


def _listener(port: int) -> socket.socket:
    # The protocol is named, because asyncio turns Nagle's algorithm off only where it is: 40 ms an answer.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((LOOPBACK, port))
    except OSError as error:
        listener.close()
        raise PortTakenError(error.errno, f"port {port} of {LOOPBACK} is taken: choose another") from error
    listener.listen(128)
    return listener
