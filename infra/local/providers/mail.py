"""A mail server that keeps what it receives. Real SMTP; nothing leaves this machine."""

from __future__ import annotations

import asyncio
import re
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import cast

from aiosmtpd.smtp import SMTP, Envelope, Session

from infra.local.providers.outages import Switch

HOST_NAME = "postroom.localhost"
SIZE_LIMIT_BYTES = 10 * 1024 * 1024
UNAVAILABLE = "421 4.3.2 Service not available"
"""https://www.rfc-editor.org/rfc/rfc5321#section-3.8 (transient: try again later)."""
REJECTED = "553 5.1.3 Not a mailbox address"
"""https://www.rfc-editor.org/rfc/rfc3463#section-3.2 (permanent: bad destination mailbox syntax)."""

# Anywhere in the header, which ends at the first empty line; a long value may stand on the next line.
_MESSAGE_ID = re.compile(rb"\A(?:.+\r?\n)*?message-id:\s*(<[^>]*>)", re.IGNORECASE)
_ADDRESS = re.compile(r"[^@\s]+@[^@\s.]+(\.[^@\s.]+)+")


def is_address(text: str) -> bool:
    """Whether it has the form of a mailbox address; how it is spelt in detail is the real server's affair."""
    return _ADDRESS.fullmatch(text) is not None


@dataclass
class Mail:
    """One mail, however often it came: `times` holds the epoch seconds of each arrival."""

    message_id: str
    recipients: Sequence[str]
    raw: bytes
    times: list[float] = field(default_factory=list)

    @property
    def message(self) -> EmailMessage:
        return message_from_bytes(self.raw, policy=policy.default)

    @property
    def subject(self) -> str:
        return str(self.message["Subject"])

    @property
    def text(self) -> str:
        body = self.message.get_body(("plain", "html"))
        return str(body.get_content()) if body else ""


class Mailbox:
    """All mails received, one per Message-ID: what a provider that knows idempotency keys would send."""

    def __init__(self) -> None:
        self._mails: dict[str, Mail] = {}
        self._lock = threading.Lock()

    def keep(self, message_id: str, raw: bytes, recipients: Sequence[str]) -> Mail:
        """Take a mail in; a second one with the same Message-ID counts as another copy of it."""
        with self._lock:
            mail = self._mails.setdefault(message_id, Mail(message_id, recipients, raw))
            mail.times.append(time.time())
            return mail

    @property
    def mails(self) -> list[Mail]:
        """Oldest first."""
        with self._lock:
            return list(self._mails.values())

    @property
    def arrivals(self) -> int:
        """How many mails came over the wire, copies included."""
        with self._lock:
            return sum(len(mail.times) for mail in self._mails.values())


def _message_id(raw: bytes) -> str:
    found = _MESSAGE_ID.search(raw)
    return found[1].decode("utf-8", "replace") if found else ""


class MailServer:
    """Answers SMTP sessions for a mailbox, or refuses them while its switch is off."""

    def __init__(self, mailbox: Mailbox, switch: Switch) -> None:
        self.mailbox = mailbox
        self.switch = switch

    def session(self) -> SMTP:
        """The protocol of one connection."""
        return SMTP(self, hostname=HOST_NAME, data_size_limit=SIZE_LIMIT_BYTES, enable_SMTPUTF8=True)

    async def handle_MAIL(  # noqa: N802 (aiosmtpd's name)
        self, _server: SMTP, _session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if self.switch.is_down:
            return UNAVAILABLE
        envelope.mail_from = address
        envelope.mail_options.extend(options)
        return "250 OK"

    async def handle_RCPT(  # noqa: N802 (aiosmtpd's name)
        self, _server: SMTP, _session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if not is_address(address):
            return REJECTED
        envelope.rcpt_tos.append(address)
        envelope.rcpt_options.extend(options)
        return "250 OK"

    async def handle_DATA(self, _server: SMTP, _session: Session, envelope: Envelope) -> str:  # noqa: N802 (aiosmtpd's name)
        if self.switch.latency:
            await asyncio.sleep(self.switch.latency)
        if self.switch.is_down:
            return UNAVAILABLE
        raw = cast(bytes, envelope.content)
        self.mailbox.keep(_message_id(raw), raw, envelope.rcpt_tos)
        return "250 OK"
