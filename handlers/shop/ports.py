"""What the shop needs from the world outside, in the shop's words. `providers` holds the adapters."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple, Protocol

from ..postroom.errors import PostroomError, Transient
from ..postroom.events import Event
from .audiences import Audience


class CardDeclined(PostroomError):
    """The customer's bank says no. Nothing has been charged."""


class ChargeInProgress(Transient):
    """Another request with the same key is being charged at this moment."""


@dataclass(frozen=True, slots=True)
class Charge:
    """A charge that the gateway made; `id` is the gateway's."""

    id: str


@dataclass(frozen=True, slots=True)
class PastCharge:
    """A charge as the gateway remembers it: under which key, and when (epoch seconds)."""

    id: str
    key: str
    made_at: float
    is_refunded: bool


class ChargePage(NamedTuple):
    """`next` is where the following page begins, None at the end."""

    charges: Sequence[PastCharge]
    next: str | None


class Cards(Protocol):
    def charge(self, amount: int, currency: str, token: str, *, key: str) -> Charge:
        """Charge `amount` (kobo) once per `key`, by which the gateway also remembers it.

        Raises `CardDeclined`, `ChargeInProgress`, or `Transient` when the gateway cannot be asked.
        """

    def refund(self, charge_id: str) -> None:
        """Give a whole charge back, once however often it is asked for."""


class ChargeBook(Protocol):
    """The gateway's memory of what it charged for this shop."""

    def made(self, *, since: float, until: float, after: str | None) -> ChargePage:
        """Charges made from `since` up to but not at `until` (epoch seconds), oldest first, in pages.

        Raises `ProviderError`; `Transient` without a clear answer.
        """

    def refund(self, charge_id: str) -> None:
        """Give a whole charge back, once however often it is asked for."""


@dataclass(frozen=True, slots=True)
class Mail:
    """A mail as text. `date` is part of it, so that every repeat of a mail is the same bytes."""

    to: str
    subject: str
    text: str
    date: datetime


class Mailer(Protocol):
    def send(self, mail: Mail, *, key: str) -> str:
        """Hand the mail in and return its message id, which is derived from `key`.

        Raises `Permanent` when this recipient or content is refused, `Transient` for everything else.
        """


class Phones(Protocol):
    def text(self, number: str, message: str) -> str:
        """Send an SMS to a number in E.164 form; returns its message id. A repeat is a second SMS.

        Raises `Permanent` for a number that takes none, `NotActed` when certainly nothing was sent, and
        `Transient` for everything else.
        """


class RecipientPage(NamedTuple):
    """Numbers of recipients, ascending; `more` says that others may follow."""

    numbers: Sequence[int]
    more: bool


class BulkLane(Protocol):
    """Where campaigns find their recipients and leave their mails' messages."""

    @property
    def step_recipients(self) -> int:
        """How many recipients one step hands out at most."""

    def page(self, audience: Audience, after: int, last: int, limit: int) -> RecipientPage:
        """Up to `limit` recipients numbered above `after` and up to `last`. Raises `Transient`."""

    def send(self, events: Sequence[Event[Any]]) -> None:
        """Hand the events to the lane; returns when it has confirmed each.

        Raises `Permanent` when one can never be taken, `Transient` for everything else; in both cases some
        may have been taken.
        """
