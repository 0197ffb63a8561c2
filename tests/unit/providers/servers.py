"""Tiny provider servers on loopback, scripted by the tests."""

import asyncio
import json
import socket
import ssl
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

from aiosmtpd.controller import Controller


@contextmanager
def refusing_address() -> Iterator[str]:
    """Nobody listens there, and nobody else can meanwhile: the port is taken."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{taken.getsockname()[1]}"


@dataclass
class CardServer:
    """What the gateway was asked, and what it will say next; by default it approves, once per key."""

    url: str = ""
    asked: list[tuple[str, dict[str, Any], str]] = field(default_factory=list)
    charged: list[dict[str, Any]] = field(default_factory=list)
    connections: set[Any] = field(default_factory=set)
    next_answers: deque[tuple[int, bytes]] = field(default_factory=deque)
    hang_up_after_answer: bool = False
    hangs: threading.Event | None = None
    """While it is not set, no answer comes."""
    _charges: dict[str, str] = field(default_factory=dict)

    def answer(self, path: str, body: dict[str, Any], key: str) -> tuple[int, bytes]:
        self.asked.append((path, body, key))
        if self.next_answers:
            return self.next_answers.popleft()
        if path == "/api/charges" and key not in self._charges:
            self.charged.append(body)
            self._charges[key] = f"ch_{len(self._charges) + 1}"
        said = {"id": self._charges.get(key, ""), "status": "approved"}
        return 200, json.dumps(said).encode()


@contextmanager
def card_server(tls: ssl.SSLContext | None = None) -> Iterator[CardServer]:
    state = CardServer()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout: ClassVar[float] = 5.0

        def do_GET(self) -> None:
            self._answer({})

        def do_POST(self) -> None:
            self._answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

        def _answer(self, body: dict[str, Any]) -> None:
            state.connections.add(self.client_address)
            if state.hangs:
                state.hangs.wait(5)
            status, content = state.answer(self.path, body, self.headers.get("Idempotency-Key", ""))
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)
            # closing without having said so is what an idle time-out of a server looks like
            self.close_connection = state.hang_up_after_answer

        def log_message(self, *_: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

    with Server(("127.0.0.1", 0), Handler) as server:
        if tls:
            server.socket = tls.wrap_socket(server.socket, server_side=True)
        state.url = f"{'https' if tls else 'http'}://127.0.0.1:{server.server_port}/api/"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield state
        finally:
            server.shutdown()
            thread.join()


@dataclass
class MailSink:
    """Keeps what it accepts; its answers to RSET (none, if empty), RCPT and DATA can be scripted.

    After `mails_per_conversation` it says `limit_answer` to MAIL (hangs up, if empty).
    """

    rset_answer: str = "250 OK"
    rcpt_answer: str = "250 OK"
    data_answer: str = "250 OK"
    mails_per_conversation: int = 1000
    limit_answer: str = ""
    url: str = ""
    mails: list[Any] = field(default_factory=list)
    conversations: int = 0
    transports: list[Any] = field(default_factory=list)

    async def hang_up(self) -> None:
        """Left to itself, TLS waits for a farewell from the other side."""
        for transport in self.transports:
            transport.abort()
        for _ in range(3):
            await asyncio.sleep(0)

    async def handle_EHLO(  # noqa: N802 - the name aiosmtpd calls
        self, server: Any, session: Any, _envelope: Any, host_name: str, answers: list[str]
    ) -> list[str]:
        self.conversations += 1
        self.transports.append(server.transport)
        session.host_name = host_name
        return answers

    async def handle_RSET(  # noqa: N802 - the name aiosmtpd calls
        self, _server: Any, _session: Any, _envelope: Any
    ) -> str:
        if not self.rset_answer:
            await asyncio.Event().wait()
        return self.rset_answer

    async def handle_MAIL(  # noqa: N802 - the name aiosmtpd calls
        self, server: Any, session: Any, envelope: Any, address: str, _options: Any
    ) -> str:
        session.mails = getattr(session, "mails", 0) + 1
        if session.mails > self.mails_per_conversation:
            if not self.limit_answer:
                server.transport.abort()
            return self.limit_answer
        envelope.mail_from = address
        return "250 OK"

    async def handle_RCPT(  # noqa: N802 - the name aiosmtpd calls
        self, _server: Any, _session: Any, envelope: Any, address: str, _options: Any
    ) -> str:
        if self.rcpt_answer.startswith("2"):
            envelope.rcpt_tos.append(address)
        return self.rcpt_answer

    async def handle_DATA(  # noqa: N802 - the name aiosmtpd calls
        self, _server: Any, _session: Any, envelope: Any
    ) -> str:
        if self.data_answer.startswith("2"):
            self.mails.append(envelope)
        return self.data_answer


class _MailController(Controller):
    """Listens at a port of its own from the start, instead of one that was free a moment ago."""

    def _create_server(self) -> Any:
        listening = socket.create_server(("127.0.0.1", 0))
        self.port = listening.getsockname()[1]
        return self.loop.create_server(self._factory_invoker, sock=listening, ssl=self.ssl_context)


@contextmanager
def mail_sink(tls: ssl.SSLContext | None = None, scheme: str = "smtp") -> Iterator[MailSink]:
    """With `tls`, the server offers STARTTLS, or begins with TLS if it is at `smtps`."""
    sink = MailSink()
    at_once, offered = (tls, None) if scheme == "smtps" else (None, tls)
    controller = _MailController(sink, hostname="127.0.0.1", tls_context=offered, ssl_context=at_once)
    controller.start()
    sink.url = f"{scheme}://127.0.0.1:{controller.port}"
    try:
        yield sink
    finally:
        asyncio.run_coroutine_threadsafe(sink.hang_up(), controller.loop).result()
        controller.stop()


@contextmanager
def dripping_server(line: bytes, every_seconds: float) -> Iterator[str]:
    """Says the same line again and again until the client has gone; gives the server's address."""
    gone = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def drip() -> None:
            connection, _ = listener.accept()
            with connection, suppress(OSError):
                while not gone.wait(every_seconds):
                    connection.sendall(line)

        thread = threading.Thread(target=drip)
        thread.start()
        try:
            yield f"127.0.0.1:{listener.getsockname()[1]}"
        finally:
            gone.set()
            thread.join()
