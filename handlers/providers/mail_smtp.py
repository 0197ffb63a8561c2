"""Mail by SMTP (RFC 5321)."""

import re
import smtplib
import ssl
import time
import weakref
from collections import deque
from contextlib import suppress
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
from .deadlines import Deadline
from .smtp_conversation import Conversation


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
TOTAL_SECONDS = 6.0
"""For one mail, from connecting to the last answer, however slowly it drips; a job's time has room for it.
Only looking up the server's name is not in it: that is bounded by the system's resolver."""
GOES_ON_SHARE = 1 / 6
"""How much of that a kept conversation may take to say that it goes on."""
KEPT_SECONDS = 5
"""How long a conversation waits for the next mail: from one of a batch to another, and hardly longer."""
_OK = 250
_CLOSING = 421


class SmtpMailer:
    """Hands mails in at `smtp://host:port`, with STARTTLS where it is offered, or at `smtps://host:port`.

    A conversation goes on with the next mail if that comes soon; any thread may use it.
    """

    def __init__(self, url: str, sender: str, total_seconds: float = TOTAL_SECONDS) -> None:
        self._url = urlsplit(url)
        self._sender = sender
        self._total_seconds = total_seconds
        self._kept: deque[tuple[Conversation, float]] = deque()
        weakref.finalize(self, _close_all, self._kept)

    def send(self, mail: Mail, *, key: str) -> str:
        """Returns the Message-ID, derived from `key`, so that whoever gets a repeat can recognise it."""
        message = self.compose(mail, key)
        try:
            self._hand_in(message, mail.to, Deadline(self._total_seconds))
        except smtplib.SMTPRecipientsRefused as error:
            raise _refused("recipient", _code_of(error)) from None
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

    def _hand_in(self, message: EmailMessage, to: str, deadline: Deadline) -> None:
        kept = self._kept_one(deadline)
        if kept:
            try:
                return self._converse(kept, message, to)
            except (smtplib.SMTPException, OSError) as error:
                if kept.is_in_doubt or not _is_about_the_conversation(error):
                    raise
        return self._converse(self._connect(deadline), message, to)

    def _converse(self, server: Conversation, message: EmailMessage, to: str) -> None:
        try:
            server.send_message(message, self._sender, [to])
        except BaseException:
            server.close()
            raise
        # by the clock on the wall, which goes on while Lambda has the process frozen
        self._kept.append((server, time.time() + KEPT_SECONDS))

    def _kept_one(self, deadline: Deadline) -> Conversation | None:
        """A conversation that the server says it is ready to go on with."""
        try:
            server, until = self._kept.pop()
        except IndexError:
            return None
        if time.time() < until and self._goes_on(server):
            server.go_on(deadline)
            return server
        server.close()
        # the others are no younger
        _close_all(self._kept)
        return None

    def _goes_on(self, server: Conversation) -> bool:
        server.go_on(Deadline(self._total_seconds * GOES_ON_SHARE))
        try:
            return server.rset()[0] == _OK
        except (smtplib.SMTPException, OSError):
            return False

    def _connect(self, deadline: Deadline) -> Conversation:
        tls = ssl.create_default_context() if self._url.scheme == "smtps" else None
        port = self._url.port or (smtplib.SMTP_SSL_PORT if tls else smtplib.SMTP_PORT)
        server = Conversation(self._url.hostname or "", port, self._domain, tls, deadline)
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


def _close_all(kept: deque[tuple[Conversation, float]]) -> None:
    with suppress(IndexError):
        while True:
            kept.pop()[0].close()


def _is_about_the_conversation(error: Exception) -> bool:
    """Whether a mail may do better in another: the sender that is refused now was good enough a mail ago."""
    return not isinstance(error, smtplib.SMTPRecipientsRefused) or _code_of(error) == _CLOSING


def _code_of(error: smtplib.SMTPRecipientsRefused) -> int:
    return min(code for code, _ in error.recipients.values())


def _refused(what: str, code: int) -> Exception:
    """RFC 5321 §4.2.1: 5yz is for ever, 4yz may pass. Its words may name people, so only the code stays."""
    words = f"the mail server refused the {what} with {code}"
    return Permanent(words) if code >= 500 else Transient(words)


def _atom(key: str) -> str:
    """The key in a message id's alphabet (RFC 5322 §3.2.3, dot-atom); different keys stay different."""
    return re.sub(r"[^A-Za-z0-9_-]", lambda other: f"={ord(other[0]):X}=", key)
