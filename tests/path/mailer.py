"""A mail provider in this process: it keeps what it is handed, and honours idempotency keys."""

from collections.abc import Callable
from dataclasses import dataclass, field

from handlers.postroom.errors import Transient
from handlers.shop.ports import Mail
from infra.local.providers.outages import Switch


class Killed(BaseException):
    """The process ends in the middle of things: nothing after this runs, no handler catches it."""


@dataclass
class Mailer:
    """`asked` lists every request, `sent` what was accepted, both as (seconds, key).

    `every_mail` holds each accepted mail, `mails` one for each key: what a recipient gets.
    """

    switch: Switch
    t: Callable[[], float]
    asked: list[tuple[float, str]] = field(default_factory=list)
    sent: list[tuple[float, str]] = field(default_factory=list)
    every_mail: list[Mail] = field(default_factory=list)
    mails: dict[str, Mail] = field(default_factory=dict)
    on_sending: list[Callable[[], None]] = field(default_factory=list)
    """What happens while mails are handed in, one entry each: time passes, or the process dies."""

    def send(self, mail: Mail, *, key: str) -> str:
        self.asked.append((self.t(), key))
        if self.switch.is_down:
            raise Transient("the mail server is down")
        self.sent.append((self.t(), key))
        self.every_mail.append(mail)
        self.mails.setdefault(key, mail)
        if self.on_sending:
            self.on_sending.pop(0)()
        return f"<{key}>"

    def dies_after_sending(self) -> None:
        """The provider has said yes, and the caller does not live to write it down."""

        def die() -> None:
            raise Killed

        self.on_sending.append(die)
