"""The shop's providers, with logs of their own."""

from collections.abc import Callable
from dataclasses import dataclass, field

from handlers.providers.mail_smtp import SmtpMailer
from handlers.shop.ports import Charge, Mail
from infra.local.stubs import StubCards

SENDER = "shop@example.com"


@dataclass
class Mailroom:
    """Composes mails as the real adapter does, and keeps the bytes of each under its message id."""

    mails: dict[str, list[bytes]] = field(default_factory=dict)

    def send(self, mail: Mail, *, key: str) -> str:
        message = SmtpMailer("smtp://mail.example", SENDER).compose(mail, key)
        message_id = str(message["Message-ID"])
        self.mails.setdefault(message_id, []).append(message.as_bytes())
        return message_id


@dataclass(frozen=True)
class BusyCards(StubCards):
    """Takes its time over the first charge: `meanwhile` happens before its answer."""

    meanwhile: list[Callable[[], object]] = field(default_factory=list)

    def charge(self, amount: int, currency: str, token: str, *, key: str) -> Charge:
        made = super().charge(amount, currency, token, key=key)
        if self.meanwhile:
            self.meanwhile.pop()()
        return made
