"""Mail by SMTP (RFC 5321)."""

import re
import smtplib
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from urllib.parse import urlsplit

from ..postroom.aws.deployment import Deployment
from ..postroom.errors import Permanent, Transient
from ..shop.ports import Mail

_SEVEN_BIT = SMTP.clone(cte_type="7bit")
"""Every server takes it; 8BITMIME (RFC 6152) is an extension."""
TIMEOUT_SECONDS = 5
"""Of each step of the conversation: a server that hangs costs this once, well inside the function's time."""


@dataclass(frozen=True, slots=True)
class SmtpMailer:
    """Hands mails in at `smtp://host:port`, with STARTTLS where it is offered, or at `smtps://host:port`."""

    url: str
    sender: str
    timeout_seconds: float = TIMEOUT_SECONDS

    def send(self, mail: Mail, *, key: str) -> str:
        """Returns the Message-ID, derived from `key`, so that whoever gets a repeat can recognise it."""
        message = self.compose(mail, key)
        try:
            with self._server() as server:
                server.send_message(message, self.sender, [mail.to])
        except smtplib.SMTPRecipientsRefused as error:
            raise _refused("recipient", min(code for code, _ in error.recipients.values())) from None
        except smtplib.SMTPDataError as error:
            raise _refused("message", error.smtp_code) from None
        except (smtplib.SMTPException, OSError) as error:
            raise Transient(f"the mail server cannot be used: {type(error).__name__}") from error
        return str(message["Message-ID"])

    def compose(self, mail: Mail, key: str) -> EmailMessage:
        message = EmailMessage(policy=_SEVEN_BIT)
        message["From"] = self.sender
        message["To"] = mail.to
        message["Subject"] = mail.subject
        message["Date"] = format_datetime(mail.date)
        message["Message-ID"] = f"<{_atom(key)}@{self._domain}>"
        message.set_content(mail.text)
        return message

    @property
    def _domain(self) -> str:
        return self.sender.rpartition("@")[2]

    @contextmanager
    def _server(self) -> Iterator[smtplib.SMTP]:
        """A conversation of its own per mail: one kept open does not survive Lambda's freezing in between."""
        url = urlsplit(self.url)
        make = smtplib.SMTP_SSL if url.scheme == "smtps" else smtplib.SMTP
        # our own name is given, because asking the resolver for it may take seconds
        with make(
            url.hostname or "", url.port or 0, local_hostname=self._domain, timeout=self.timeout_seconds
        ) as server:
            server.ehlo_or_helo_if_needed()
            if server.has_extn("starttls"):
                server.starttls(context=ssl.create_default_context())
            yield server


def from_deployment(deployment: Deployment) -> SmtpMailer:
    return SmtpMailer(deployment.setting("MAIL_URL"), deployment.setting("MAIL_FROM"))


def _refused(what: str, code: int) -> Exception:
    """RFC 5321 §4.2.1: 5yz is for ever, 4yz may pass. Its words may name people, so only the code stays."""
    words = f"the mail server refused the {what} with {code}"
    return Permanent(words) if code >= 500 else Transient(words)


def _atom(key: str) -> str:
    """The key in a message id's alphabet (RFC 5322 §3.2.3, dot-atom); different keys stay different."""
    return re.sub(r"[^A-Za-z0-9_-]", lambda other: f"={ord(other[0]):X}=", key)
