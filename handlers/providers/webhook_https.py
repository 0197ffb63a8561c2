"""POST to a URL that a stranger chose: one lookup, public addresses only, no redirect, little time.

The name is resolved once, every address of the answer must be public, and the connection goes to one of
these very addresses: a name that leads elsewhere a moment later (DNS rebinding) gains nothing. TLS is checked
against the name, so an address that merely answers is no receiver. No HTTP library stands between: what one
would do on its own (follow, reconnect, ask a proxy) must not happen here.

Sources: RFC 9112 (HTTP/1.1), RFC 9110 §10.2.3 (Retry-After).
"""

import re
import socket
import ssl
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field

from ..postroom.aws.deployment import Deployment
from ..postroom.errors import Explained, Permanent
from ..postroom.webhooks.public_addresses import is_public
from ..postroom.webhooks.receivers import Reach, Receiver, RefusedUrl, receiver_of
from ..postroom.webhooks.sending import Reply
from .deadlines import Connect, Deadline, addresses_of, connect

TOTAL_SECONDS = 15.0
"""For one attempt, from the connection to the end of the answer's head: what the specification recommends."""
MAX_ANSWER_BYTES = 64 * 1024
_CHUNK_BYTES = 4096
_HEAD_END = b"\r\n\r\n"
_STATUS_LINE = re.compile(rb"HTTP/1\.[01] ([1-9][0-9]{2})(?: [^\r\n]*)?")
_RETRY_AFTER = re.compile(rb"\r\nretry-after:[ \t]*([0-9]{1,9})[ \t]*(?=\r\n|\Z)", re.IGNORECASE)

Resolve = Callable[[str, int], Sequence[str]]


@dataclass(frozen=True, slots=True)
class HttpsWebhooks:
    """`monotonic` gives seconds on a clock that only goes forward."""

    reach: Reach = Reach.PUBLIC
    resolve: Resolve = addresses_of
    connect: Connect = connect
    tls: ssl.SSLContext = field(default_factory=ssl.create_default_context)
    total_seconds: float = TOTAL_SECONDS
    monotonic: Callable[[], float] = time.monotonic

    def post(self, url: str, headers: Mapping[str, str], body: bytes) -> Reply:
        """Raises `Explained`; `Permanent` for a URL that would not be registered today."""
        try:
            receiver = receiver_of(url, self.reach)
        except RefusedUrl as refused:
            raise Permanent(f"the webhook's URL {refused}") from None
        addresses = self._addresses(receiver)
        request = _request(receiver, headers, body)
        deadline = Deadline(self.total_seconds, self.monotonic)
        try:
            with closing(self._connection(receiver, addresses, deadline)) as connection:
                connection.settimeout(deadline.left())
                connection.sendall(request)
                return _reply(self._answer(connection, deadline))
        except TimeoutError:
            raise Explained(f"the receiver took longer than {self.total_seconds:g} s") from None
        except ssl.SSLCertVerificationError:
            raise Explained("the receiver's certificate is not valid for its name") from None
        except OSError as error:
            raise Explained(f"the connection to the receiver failed: {type(error).__name__}") from None

    def _addresses(self, receiver: Receiver) -> list[str]:
        if not receiver.tls:
            return [receiver.host]
        try:
            addresses = list(self.resolve(receiver.host, receiver.port))
        except (OSError, UnicodeError):
            raise Explained("the receiver's name cannot be resolved") from None
        if not addresses or not all(map(is_public, addresses)):
            raise Explained("the receiver's name leads to an address that is not public")
        # Lambda reaches IPv4 from everywhere, IPv6 only from some networks
        return sorted(addresses, key=lambda address: ":" in address)

    def _connection(self, receiver: Receiver, addresses: Sequence[str], deadline: Deadline) -> socket.socket:
        plain = deadline.connected(addresses, receiver.port, self.connect)
        return deadline.secured(plain, self.tls, receiver.host) if receiver.tls else plain

    def _answer(self, connection: socket.socket, deadline: Deadline) -> bytes:
        """The head of the final answer. Whatever follows it is not read."""
        received = b""
        for chunk in self._chunks(connection, deadline):
            received += chunk
            while _HEAD_END in received:
                head, _, rest = received.partition(_HEAD_END)
                if not _is_interim(head):
                    return head
                received = rest
        raise Explained("the receiver's answer is not HTTP")

    def _chunks(self, connection: socket.socket, deadline: Deadline) -> Iterator[bytes]:
        """What comes, up to a bound in bytes and in time, however slowly it drips."""
        total = 0
        while total < MAX_ANSWER_BYTES:
            connection.settimeout(deadline.left())
            chunk = connection.recv(_CHUNK_BYTES)
            if not chunk:
                return
            total += len(chunk)
            yield chunk


def reach_of(deployment: Deployment) -> Reach:
    """`WEBHOOK_RECEIVERS`; in Lambda always the public internet, whatever a variable says.

    docs.aws.amazon.com/lambda/latest/dg/configuration-envvars.html (AWS_LAMBDA_RUNTIME_API is the runtime's)
    """
    if deployment.environ.get("AWS_LAMBDA_RUNTIME_API"):
        return Reach.PUBLIC
    return Reach(deployment.setting("WEBHOOK_RECEIVERS"))


def from_deployment(deployment: Deployment) -> HttpsWebhooks:
    return HttpsWebhooks(reach_of(deployment))


def _request(receiver: Receiver, headers: Mapping[str, str], body: bytes) -> bytes:
    lines = [
        f"POST {receiver.target} HTTP/1.1",
        f"Host: {receiver.authority}",
        "User-Agent: Postroom-Webhooks/1",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
        "Connection: close",
        *(f"{name}: {value}" for name, value in headers.items()),
    ]
    return "\r\n".join(lines).encode("ascii") + _HEAD_END + body


def _reply(head: bytes) -> Reply:
    asked = _RETRY_AFTER.search(head)
    return Reply(_status(head), float(asked[1]) if asked else None)


def _is_interim(head: bytes) -> bool:
    """RFC 9110 §15.2: any number of 1xx answers may come before the final one."""
    return 100 <= _status(head) <= 199


def _status(head: bytes) -> int:
    found = _STATUS_LINE.fullmatch(head.partition(b"\r\n")[0])
    if not found:
        raise Explained("the receiver's answer is not HTTP")
    return int(found[1])
