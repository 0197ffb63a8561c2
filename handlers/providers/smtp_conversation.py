"""smtplib's conversation (RFC 5321) within a time of its own."""

import io
import smtplib
import socket
import ssl
from typing import Any

from .deadlines import Deadline, TimedReads, addresses_of


class Conversation(smtplib.SMTP):
    """Ends at its deadline. With `tls`, it begins with a handshake."""

    def __init__(
        self, host: str, port: int, name: str, tls: ssl.SSLContext | None, deadline: Deadline
    ) -> None:
        self._deadline = deadline
        self.is_in_doubt = False
        """Whether a mail's text is under way: before that, sending it elsewhere delivers nothing twice."""
        self._tls = tls
        # our own name is given, because asking the resolver for it may take seconds
        super().__init__(host, port, local_hostname=name)

    def go_on(self, deadline: Deadline) -> None:
        self._deadline = deadline
        self.is_in_doubt = False

    def _get_socket(self, host: str, port: int, _timeout: object) -> socket.socket:
        plain = self._deadline.connected(addresses_of(host, port), port)
        return self._deadline.secured(plain, self._tls, host) if self._tls else plain

    def send(self, s: Any) -> None:
        if self.sock:
            self.sock.settimeout(self._left())
        super().send(s)

    def getreply(self) -> tuple[int, bytes]:
        if self.file is None and self.sock:
            self.file = io.BufferedReader(TimedReads(self.sock, self._left))
        return super().getreply()

    def docmd(self, cmd: str, args: str = "") -> tuple[int, bytes]:
        answer = super().docmd(cmd, args)
        if self.sock:
            # for the handshake that follows STARTTLS
            self.sock.settimeout(self._left())
        return answer

    def data(self, msg: Any) -> tuple[int, bytes]:
        self.is_in_doubt = True
        return super().data(msg)

    def _left(self) -> float:
        return self._deadline.left()
