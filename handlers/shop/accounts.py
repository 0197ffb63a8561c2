"""A customer's account: a balance, and the numbered movements that it comes from."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated, Any

from pydantic import Field

from ..postroom.acceptance import Intent
from ..postroom.change import Step
from ..postroom.events import EventFamily, EventType
from ..postroom.idempotency import derived_id
from ..postroom.storage import Absent, Compare, Item, Key, Update, Write
from .facts import Currency, Fact, Id
from .money import CURRENCY

KIND = "account"


class AccountMoved(Fact):
    """`amount` is what was moved, `balance` what there was after it; both in the currency's minor unit."""

    account_id: Id
    amount: Annotated[int, Field(ge=1)]
    balance: Annotated[int, Field(ge=0)]
    currency: Currency


def _moved(verb: str) -> EventType[AccountMoved]:
    return EventType(f"{KIND}.{verb}", 1, AccountMoved, born_with_entity=False, repeats=True, ordered=True)


ACCOUNT_CREDITED, ACCOUNT_CHARGED, ACCOUNT_REFUNDED = (
    _moved("credited"),
    _moved("charged"),
    _moved("refunded"),
)
ACCOUNT: EventFamily[AccountMoved] = EventFamily(
    f"{KIND}.*", (ACCOUNT_CREDITED, ACCOUNT_CHARGED, ACCOUNT_REFUNDED)
)


@dataclass(frozen=True, slots=True)
class Account:
    """`balance` is in kobo; `sequence` is the number of the last movement, 0 before the first."""

    id: str
    balance: int = 0
    sequence: int = 0

    @classmethod
    def from_item(cls, account_id: str, item: Item | None) -> "Account":
        if item is None:
            return cls(account_id)
        return cls(account_id, int(item["balance"]), int(item["sequence"]))

    @property
    def aggregate(self) -> str:
        return aggregate_of(self.id)

    @property
    def is_new(self) -> bool:
        return self.sequence == 0

    def moved(self, by: int) -> "Account":
        return replace(self, balance=self.balance + by, sequence=self.sequence + 1)


def account_id(caller: str) -> str:
    """A caller has one. Derived, because a subject may hold what neither an id nor a message group takes."""
    return derived_id(caller, KIND, "")


def aggregate_of(account_id: str) -> str:
    return f"{KIND}-{account_id}"


def account_key(account_id: str) -> Key:
    return Key("shop", aggregate_of(account_id), "entity")


def movement(
    account: Account,
    event_type: EventType[AccountMoved],
    by: int,
    *,
    intent: Intent[Any],
    now: datetime,
    also: Sequence[Write] = (),
) -> Step:
    """Move the balance by so many kobo; refused by the database when the account has moved meanwhile."""
    after = account.moved(by)
    event = event_type.new(
        account.aggregate,
        AccountMoved(account_id=account.id, amount=abs(by), balance=after.balance, currency=CURRENCY),
        sequence=after.sequence,
        time=now,
        owner=intent.caller,
        trace=intent.trace,
    )
    as_read = Absent() if account.is_new else Compare("sequence", "=", account.sequence)
    update = Update(
        account_key(account.id),
        set={"owner": intent.caller, "balance": after.balance, "sequence": after.sequence},
        condition=as_read,
    )
    return Step(event_type, event, [update, *also])
