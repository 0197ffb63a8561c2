"""The shop's providers, with logs of their own."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from handlers.postroom.errors import Explained, Transient
from handlers.postroom.jobs import Commit, Job
from handlers.postroom.webhooks.sending import Reply
from handlers.providers.mail_smtp import SmtpMailer
from handlers.queue_statement import write_line
from handlers.shop.accounts import AccountMoved
from handlers.shop.ports import Charge, Mail
from infra.local.stubs import StubCards

SENDER = "shop@example.com"


@dataclass(frozen=True, slots=True)
class Arrival:
    """A mail as it came in; `at` is epoch seconds."""

    at: float
    message_id: str
    mail: Mail


@dataclass
class Mailroom:
    """Composes mails as the real adapter does, and keeps the bytes of each under its message id.

    `trouble` is what it does to everybody until it is mended, `refuses` how many it sends away until then.
    """

    clock: Callable[[], float] = lambda: 0.0
    mails: dict[str, list[bytes]] = field(default_factory=dict)
    arrivals: list[Arrival] = field(default_factory=list)
    trouble: Callable[[], Exception] | None = None
    refuses: int = 0

    def send(self, mail: Mail, *, key: str) -> str:
        if self.refuses:
            self.refuses -= 1
            raise Transient("out of order")
        if self.trouble is not None:
            raise self.trouble()
        message = SmtpMailer("smtp://mail.example", SENDER).compose(mail, key)
        message_id = str(message["Message-ID"])
        self.mails.setdefault(message_id, []).append(message.as_bytes())
        self.arrivals.append(Arrival(self.clock(), message_id, mail))
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


@dataclass
class Clerk:
    """Writes statements, but not the movements of number `stops_at` while it is in `trouble`."""

    stops_at: int = 0
    trouble: BaseException | None = None

    def write(self, job: Job[AccountMoved]) -> Commit:
        if self.trouble is not None and job.event.sequence == self.stops_at:
            raise type(self.trouble)(*self.trouble.args)
        return write_line.run(job)


@dataclass(frozen=True, slots=True)
class Post:
    """What came to a caller's URL, and whether the receiver took it. `at` is epoch seconds."""

    at: float
    headers: Mapping[str, str]
    body: bytes
    taken: bool

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]

    @property
    def told(self) -> Mapping[str, Any]:
        told: dict[str, Any] = json.loads(self.body)
        return told


@dataclass
class Receiver:
    """The caller's own server, without a wire; `down_until` is epoch seconds."""

    clock: Callable[[], float]
    down_until: float = 0.0
    posts: list[Post] = field(default_factory=list)

    def post(self, _url: str, headers: Mapping[str, str], body: bytes) -> Reply:
        taken = self.clock() >= self.down_until
        self.posts.append(Post(self.clock(), dict(headers), body, taken))
        if not taken:
            raise Explained("the connection to the receiver failed: ConnectionRefusedError")
        return Reply(204)
