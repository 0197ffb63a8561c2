"""smtplib's conversation (RFC 5321) within a time of its own.

A time-out of smtplib is for each read of a few bytes, and a server that drips is never late for one.
"""

import io
import smtplib
import socket
import ssl
import time
from contextlib import suppress
from typing import Any

MAX_ADDRESSES = 2
"""How many of the server's addresses are tried."""


class Conversation(smtplib.SMTP):
    """Ends at its `deadline` (seconds, by the monotonic clock): each wait has the time that is left.

    With `tls`, it begins with a handshake.
    """

    def __init__(self, host: str, port: int, name: str, tls: ssl.SSLContext | None, deadline: float) -> None:
        self.deadline = deadline
        self.is_in_doubt = False
        """Whether a mail's text is under way: before that, sending it elsewhere delivers nothing twice."""
        self._tls = tls
        # our own name is given, because asking the resolver for it may take seconds
        super().__init__(host, port, local_hostname=name)

    def left(self) -> float:
        """Seconds. Raises `TimeoutError` when there are none."""
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left

    def go_on(self, deadline: float) -> None:
        self.deadline = deadline
        self.is_in_doubt = False

    def _get_socket(self, host: str, port: int, _timeout: object) -> socket.socket:
        plain = self._reach(host, port)
        if not self._tls:
            return plain
        try:
            plain.settimeout(self.left())
            return self._tls.wrap_socket(plain, server_hostname=host)
        except BaseException:
            plain.close()
            raise

    def _reach(self, host: str, port: int) -> socket.socket:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[:MAX_ADDRESSES]
        *others, last = [str(address[0]) for *_, address in found]
        for other in others:
            with suppress(OSError):
                return socket.create_connection((other, port), self.left() / MAX_ADDRESSES)
        return socket.create_connection((last, port), self.left())

    def send(self, s: Any) -> None:
        if self.sock:
            self.sock.settimeout(self.left())
        super().send(s)

    def getreply(self) -> tuple[int, bytes]:
        if self.file is None and self.sock:
            self.file = io.BufferedReader(_Answers(self, self.sock))
        return super().getreply()

    def docmd(self, cmd: str, args: str = "") -> tuple[int, bytes]:
        answer = super().docmd(cmd, args)
        if self.sock:
            # for the handshake that follows STARTTLS
            self.sock.settimeout(self.left())
        return answer

    def data(self, msg: Any) -> tuple[int, bytes]:
        self.is_in_doubt = True
        return super().data(msg)


class _Answers(io.RawIOBase):
    def __init__(self, conversation: Conversation, connection: socket.socket) -> None:
        self._conversation = conversation
        self._connection = connection

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._connection.settimeout(self._conversation.left())
        return self._connection.recv_into(buffer)
