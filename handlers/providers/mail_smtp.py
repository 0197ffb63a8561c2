"""Mail by SMTP (RFC 5321)."""

import re
import smtplib
import ssl
import time
import weakref
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from email.headerregistry import HeaderRegistry
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

from ..postroom.aws.deployment import Deployment
from ..postroom.errors import Permanent, Transient
from ..shop.ports import Mail


class _Headers(HeaderRegistry):
    """Remembers: most headers are those of the mail before, and reading them takes longer than all else."""

    def __init__(self) -> None:
        super().__init__()
        self._kind = lru_cache(maxsize=64)(super().__getitem__)
        self._read = lru_cache(maxsize=64)(super().__call__)

    def __getitem__(self, name: str) -> Any:
        return self._kind(name)

    def __call__(self, name: str, value: Any) -> Any:
        return self._read(name, value)


_SEVEN_BIT = SMTP.clone(cte_type="7bit", header_factory=_Headers())
"""Every server takes it; 8BITMIME (RFC 6152) is an extension."""
TIMEOUT_SECONDS = 5
"""Of each step of the conversation: a server that hangs costs this once, well inside the function's time."""
GOES_ON_SECONDS = 1
"""How long a kept conversation may take to say so: its silence and a new one's both fit into a job's time."""
_OK = 250
KEPT_SECONDS = 5
"""How long a conversation waits for the next mail: from one of a batch to another, and hardly longer."""


class SmtpMailer:
    """Hands mails in at `smtp://host:port`, with STARTTLS where it is offered, or at `smtps://host:port`.

    A conversation goes on with the next mail if that comes soon; any thread may use it.
    """

    def __init__(self, url: str, sender: str, timeout_seconds: float = TIMEOUT_SECONDS) -> None:
        self._url = urlsplit(url)
        self._sender = sender
        self._timeout_seconds = timeout_seconds
        self._kept: deque[tuple[smtplib.SMTP, float]] = deque()
        weakref.finalize(self, _close_all, self._kept)

    def send(self, mail: Mail, *, key: str) -> str:
        """Returns the Message-ID, derived from `key`, so that whoever gets a repeat can recognise it."""
        message = self.compose(mail, key)
        try:
            with self._server() as server:
                server.send_message(message, self._sender, [mail.to])
        except smtplib.SMTPRecipientsRefused as error:
            raise _refused("recipient", min(code for code, _ in error.recipients.values())) from None
        except smtplib.SMTPDataError as error:
            raise _refused("message", error.smtp_code) from None
        except (smtplib.SMTPException, OSError) as error:
            raise Transient(f"the mail server cannot be used: {type(error).__name__}") from error
        return str(message["Message-ID"])

    def compose(self, mail: Mail, key: str) -> EmailMessage:
        message = EmailMessage(policy=_SEVEN_BIT)
        message["From"] = self._sender
        message["To"] = mail.to
        message["Subject"] = mail.subject
        message["Date"] = format_datetime(mail.date)
        message["Message-ID"] = f"<{_atom(key)}@{self._domain}>"
        message.set_content(mail.text)
        return message

    @property
    def _domain(self) -> str:
        return self._sender.rpartition("@")[2]

    @contextmanager
    def _server(self) -> Iterator[smtplib.SMTP]:
        server = self._kept_one() or self._connect()
        try:
            yield server
        except BaseException:
            server.close()
            raise
        # by the clock on the wall, which goes on while Lambda has the process frozen
        self._kept.append((server, time.time() + KEPT_SECONDS))

    def _kept_one(self) -> smtplib.SMTP | None:
        """A conversation that the server is ready to go on with: before a mail, nothing is in doubt."""
        try:
            server, until = self._kept.pop()
        except IndexError:
            return None
        if time.time() < until and self._goes_on(server):
            return server
        server.close()
        # the others are no younger
        _close_all(self._kept)
        return None

    def _goes_on(self, server: smtplib.SMTP) -> bool:
        try:
            return self._is_reset(server)
        except (smtplib.SMTPException, OSError):
            return False

    def _is_reset(self, server: smtplib.SMTP) -> bool:
        if server.sock is None:
            return False
        server.sock.settimeout(min(GOES_ON_SECONDS, self._timeout_seconds))
        code, _ = server.rset()
        server.sock.settimeout(self._timeout_seconds)
        return code == _OK

    def _connect(self) -> smtplib.SMTP:
        make = smtplib.SMTP_SSL if self._url.scheme == "smtps" else smtplib.SMTP
        # our own name is given, because asking the resolver for it may take seconds
        server = make(
            self._url.hostname or "",
            self._url.port or 0,
            local_hostname=self._domain,
            timeout=self._timeout_seconds,
        )
        try:
            server.ehlo_or_helo_if_needed()
            if server.has_extn("starttls"):
                server.starttls(context=ssl.create_default_context())
        except BaseException:
            server.close()
            raise
        return server


def from_deployment(deployment: Deployment) -> SmtpMailer:
    return SmtpMailer(deployment.setting("MAIL_URL"), deployment.setting("MAIL_FROM"))


def _close_all(kept: deque[tuple[smtplib.SMTP, float]]) -> None:
    with suppress(IndexError):
        while True:
            kept.pop()[0].close()


def _refused(what: str, code: int) -> Exception:
    """RFC 5321 §4.2.1: 5yz is for ever, 4yz may pass. Its words may name people, so only the code stays."""
    words = f"the mail server refused the {what} with {code}"
    return Permanent(words) if code >= 500 else Transient(words)


def _atom(key: str) -> str:
    """The key in a message id's alphabet (RFC 5322 §3.2.3, dot-atom); different keys stay different."""
    return re.sub(r"[^A-Za-z0-9_-]", lambda other: f"={ord(other[0]):X}=", key)
