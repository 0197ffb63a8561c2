"""A time for a conversation as a whole.

A socket's time-out is for each wait: a peer that drips is never late for one, and a name with many addresses
has it many times.
"""

import io
import socket
import ssl
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

MAX_ADDRESSES = 2
"""How many of a name's addresses are tried."""

Connect = Callable[[str, int, float], socket.socket]
"""By address, port and time-out in seconds."""


def addresses_of(host: str, port: int) -> list[str]:
    """A name's addresses, as the system's resolver gives them, which takes the time it takes."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


def connect(address: str, port: int, timeout_seconds: float) -> socket.socket:
    made = socket.create_connection((address, port), timeout=timeout_seconds)
    # a request that goes out in two writes does not wait for the answer to the first
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return made


class Deadline:
    """So many seconds from now on; `monotonic` gives seconds on a clock that only goes forward."""

    def __init__(self, seconds: float, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._until = monotonic() + seconds

    def left(self) -> float:
        """Seconds. Raises `TimeoutError` when there are none."""
        left = self._until - self._monotonic()
        if left <= 0:
            raise TimeoutError
        return left

    def connected(self, addresses: Sequence[str], port: int, connect: Connect = connect) -> socket.socket:
        """To the first of the addresses that answers in its share of the time. Raises `OSError`."""
        *others, last = addresses[:MAX_ADDRESSES]
        for other in others:
            with suppress(OSError):
                return connect(other, port, self.left() / MAX_ADDRESSES)
        return connect(last, port, self.left())

    def secured(self, plain: socket.socket, tls: ssl.SSLContext, name: str) -> ssl.SSLSocket:
        """The same connection after its handshake; closed when that fails. Raises `OSError`."""
        try:
            plain.settimeout(self.left())
            return tls.wrap_socket(plain, server_hostname=name)
        except BaseException:
            plain.close()
            raise


class TimedReads(io.RawIOBase):
    """What a connection says; each wait for it has the time that is `left`, in seconds."""

    def __init__(self, connection: socket.socket, left: Callable[[], float]) -> None:
        self._connection = connection
        # one more user of the connection, which is not really closed before this is
        self._said = connection.makefile("rb", buffering=0)
        self._left = left

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        self._connection.settimeout(self._left())
        return self._said.readinto(buffer)

    def close(self) -> None:
        self._said.close()
        super().close()
