"""A POST to a stranger's URL: where it connects to, what it sends, and what it makes of the answer."""

import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest

from handlers.postroom.aws.deployment import Deployment
from handlers.postroom.errors import Explained, Permanent
from handlers.postroom.webhooks.receivers import Reach
from handlers.postroom.webhooks.sending import Reply
from handlers.providers.webhook_https import MAX_ANSWER_BYTES, HttpsWebhooks, reach_of
from tests.unit.providers.certificates import client_of, server_of
from tests.unit.webhooks.test_public_addresses import NOT_PUBLIC
from tests.unit.webhooks.test_receivers import REFUSED

PUBLIC = "93.184.216.34"
URL = "https://hooks.example.com/in?key=1"
OK = b"HTTP/1.1 204 No Content\r\n\r\n"
HEADERS = {"webhook-id": "delivery-1", "webhook-timestamp": "1", "webhook-signature": "v1,a"}


@dataclass
class Net:
    """A resolver and a connector that note what they are asked for; each connection meets `serve`."""

    answers: list[list[str]] = field(default_factory=lambda: [[PUBLIC]])
    serve: Callable[[socket.socket], None] | None = None
    refused: frozenset[str] = frozenset()
    resolved: list[str] = field(default_factory=list)
    connected: list[tuple[str, int]] = field(default_factory=list)
    threads: list[threading.Thread] = field(default_factory=list)

    def resolve(self, host: str, _port: int) -> Sequence[str]:
        self.resolved.append(host)
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]

    def connect(self, address: str, port: int, timeout_seconds: float) -> socket.socket:
        self.connected.append((address, port))
        if address in self.refused or self.serve is None:
            raise ConnectionRefusedError
        ours, theirs = socket.socketpair()
        thread = threading.Thread(target=self._serve, args=(theirs,))
        thread.start()
        self.threads.append(thread)
        return ours

    def _serve(self, connection: socket.socket) -> None:
        with connection:
            assert self.serve is not None
            try:
                self.serve(connection)
            except OSError:
                return


@pytest.fixture
def net() -> Iterator[Net]:
    net = Net()
    yield net
    for thread in net.threads:
        thread.join()


@cache
def tls_as_deployed() -> ssl.SSLContext:
    """Reading the public authorities takes longer than a test."""
    return HttpsWebhooks().tls


def webhooks(net: Net, reach: Reach = Reach.PUBLIC, **more: object) -> HttpsWebhooks:
    given = {"tls": tls_as_deployed(), **more}
    return HttpsWebhooks(reach, net.resolve, net.connect, **given)  # type: ignore[arg-type]


@dataclass
class TlsReceiver:
    """Speaks TLS under a name of its own, keeps the request, and gives an answer."""

    context: ssl.SSLContext
    answer: bytes = OK
    names: list[str | None] = field(default_factory=list)
    requests: list[bytes] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.context.sni_callback = lambda _socket, name, _context: self.names.append(name)

    def __call__(self, connection: socket.socket) -> None:
        connection.settimeout(5)
        with self.context.wrap_socket(connection, server_side=True) as secure:
            self.requests.append(secure.recv(65_536))
            secure.sendall(self.answer)


@contextmanager
def no_connection(net: Net) -> Iterator[None]:
    yield
    assert net.connected == []


@pytest.mark.parametrize("address", NOT_PUBLIC)
def test_a_name_that_leads_inside_ends_without_a_connection(net: Net, address: str) -> None:
    net.answers = [[address]]

    with no_connection(net), pytest.raises(Explained, match="not public"):
        webhooks(net).post(URL, HEADERS, b"{}")


@pytest.mark.parametrize("url", REFUSED.values(), ids=REFUSED)
def test_an_odd_spelling_ends_without_a_lookup_or_connection(net: Net, url: str) -> None:
    with no_connection(net), pytest.raises(Permanent):
        webhooks(net).post(url, HEADERS, b"{}")

    assert net.resolved == []


def test_one_address_inside_among_public_ones_ends_without_a_connection(net: Net) -> None:
    net.answers = [[PUBLIC, "10.0.0.7"]]

    with no_connection(net), pytest.raises(Explained, match="not public"):
        webhooks(net).post(URL, HEADERS, b"{}")


@pytest.mark.parametrize("answer", [[], None], ids=["no-address", "no-such-name"])
def test_a_name_without_an_address_ends_without_a_connection(net: Net, answer: list[str] | None) -> None:
    def resolve(_host: str, _port: int) -> list[str]:
        if answer is None:
            raise socket.gaierror
        return answer

    with no_connection(net), pytest.raises(Explained):
        HttpsWebhooks(Reach.PUBLIC, resolve, net.connect).post(URL, HEADERS, b"{}")


def test_dns_rebinding_gains_nothing_the_name_is_looked_up_once(net: Net) -> None:
    net.answers = [[PUBLIC], ["169.254.169.254"]]

    with pytest.raises(Explained):
        webhooks(net).post(URL, HEADERS, b"{}")

    assert net.resolved == ["hooks.example.com"]
    assert net.connected == [(PUBLIC, 443)]

    with pytest.raises(Explained, match="not public"):
        webhooks(net).post(URL, HEADERS, b"{}")
    assert net.connected == [(PUBLIC, 443)]


def test_the_request_goes_to_the_address_under_the_names_certificate_and_host(
    net: Net, tmp_path: Path
) -> None:
    receiver = TlsReceiver(server_of(tmp_path, "hooks.example.com"))
    net.serve = receiver

    reply = webhooks(net, tls=client_of(tmp_path)).post(URL, HEADERS, b'{"a":1}')

    assert reply == Reply(204)
    assert (net.connected, receiver.names) == ([(PUBLIC, 443)], ["hooks.example.com"])
    head, _, body = receiver.requests[0].partition(b"\r\n\r\n")
    assert head.split(b"\r\n") == [
        b"POST /in?key=1 HTTP/1.1",
        b"Host: hooks.example.com",
        b"User-Agent: Postroom-Webhooks/1",
        b"Content-Type: application/json",
        b"Content-Length: 7",
        b"Connection: close",
        b"webhook-id: delivery-1",
        b"webhook-timestamp: 1",
        b"webhook-signature: v1,a",
    ]
    assert body == b'{"a":1}'


@pytest.mark.parametrize(("name", "trusted"), [("other.example.com", True), ("hooks.example.com", False)])
def test_a_certificate_of_another_name_or_issuer_is_no_receiver(
    net: Net, tmp_path: Path, name: str, trusted: bool
) -> None:
    receiver = TlsReceiver(server_of(tmp_path, name))
    net.serve = receiver
    context = client_of(tmp_path) if trusted else ssl.create_default_context()

    with pytest.raises(Explained, match="certificate"):
        webhooks(net, tls=context).post(URL, HEADERS, b"{}")

    assert receiver.requests == []


def test_the_next_address_is_tried_when_the_first_refuses(net: Net, tmp_path: Path) -> None:
    net.answers = [["2606:4700::6810:84e5", "1.0.0.1", "1.1.1.1"]]
    net.refused = frozenset({"1.0.0.1"})
    net.serve = TlsReceiver(server_of(tmp_path, "hooks.example.com"))

    assert webhooks(net, tls=client_of(tmp_path)).post(URL, HEADERS, b"{}").status == 204
    assert [address for address, _ in net.connected] == ["1.0.0.1", "1.1.1.1"]


def over_http(net: Net, serve: Callable[[socket.socket], None], **more: object) -> Reply:
    net.serve = serve
    transport = webhooks(net, Reach.LOOPBACK_TOO, **more)
    return transport.post("http://127.0.0.1:8004/ada", HEADERS, b"{}")


def saying(*answers: bytes) -> Callable[[socket.socket], None]:
    def serve(connection: socket.socket) -> None:
        connection.recv(65_536)
        for each in answers:
            connection.sendall(each)

    return serve


@pytest.mark.parametrize(
    ("answer", "reply"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", Reply(200)),
        (b"HTTP/1.0 202\r\n\r\n", Reply(202)),
        (
            b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: a\r\n\r\nHTTP/1.1 201 Made\r\n\r\n",
            Reply(201),
        ),
        (b"HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/\r\n\r\n", Reply(302)),
        (b"HTTP/1.1 307 Again\r\nLocation: https://10.0.0.1/\r\n\r\n", Reply(307)),
        (b"HTTP/1.1 429 Too Many\r\nRetry-After: 120\r\n\r\n", Reply(429, 120.0)),
        (b"HTTP/1.1 503 No\r\nretry-after:  7 \r\nServer: x\r\n\r\n", Reply(503, 7.0)),
        (b"HTTP/1.1 503 No\r\nRetry-After: Fri, 31 Dec 1999 23:59:59 GMT\r\n\r\n", Reply(503)),
    ],
)
def test_the_final_answers_status_counts_and_no_redirect_is_followed(
    net: Net, answer: bytes, reply: Reply
) -> None:
    assert over_http(net, saying(answer)) == reply
    assert net.connected == [("127.0.0.1", 8004)]


def test_an_answer_in_drips_is_put_together(net: Net) -> None:
    assert over_http(net, saying(*(OK[index : index + 1] for index in range(len(OK))))).status == 204


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"SSH-2.0-OpenSSH_9.6\r\n\r\n", id="another-protocol"),
        pytest.param(b"HTTP/1.1 200 OK\r\n", id="cut-off"),
        pytest.param(b"HTTP/1.1 2000 OK\r\n\r\n", id="no-status"),
        pytest.param(b"HTTP/1.1 200 OK\r\nX: " + b"a" * (MAX_ANSWER_BYTES + 1), id="endless-head"),
        pytest.param(b"HTTP/1.1 100 Continue\r\n\r\n" * 3_000, id="endless-interim-answers"),
    ],
)
def test_what_is_no_answer_within_the_bound_is_a_failure(net: Net, answer: bytes) -> None:
    with pytest.raises(Explained):
        over_http(net, saying(answer))


def test_a_receiver_that_drips_for_ever_costs_the_whole_time_and_no_more(net: Net) -> None:
    ticks = iter(range(1_000))

    def drip(connection: socket.socket) -> None:
        while True:
            connection.sendall(b"H")

    with pytest.raises(Explained, match="longer than 15 s"):
        over_http(net, drip, monotonic=lambda: float(next(ticks)))


def test_a_failed_connection_says_nothing_of_the_inside(net: Net) -> None:
    with pytest.raises(Explained, match=r"^the connection to the receiver failed: ConnectionRefusedError$"):
        webhooks(net).post(URL, HEADERS, b"{}")


@pytest.mark.parametrize(
    ("environ", "reach"),
    [
        ({"WEBHOOK_RECEIVERS": "public"}, Reach.PUBLIC),
        ({"WEBHOOK_RECEIVERS": "public-and-loopback"}, Reach.LOOPBACK_TOO),
        (
            {"WEBHOOK_RECEIVERS": "public-and-loopback", "AWS_LAMBDA_RUNTIME_API": "127.0.0.1:9001"},
            Reach.PUBLIC,
        ),
    ],
)
def test_in_lambda_the_local_switch_is_without_effect(environ: dict[str, str], reach: Reach) -> None:
    deployment = Deployment(environ, session=None)  # type: ignore[arg-type]

    assert reach_of(deployment) is reach
