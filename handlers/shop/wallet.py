"""The wallet: credit comes in, purchases are charged to it, a charge can be refunded once."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field

from ..postroom.acceptance import Intent
from ..postroom.bodies import Body
from ..postroom.change import Change, Found, Step
from ..postroom.problems import Problem, not_found
from ..postroom.storage import Absent, AllOf, Exists, Key, Put, Update
from .accounts import (
    ACCOUNT_CHARGED,
    ACCOUNT_CREDITED,
    ACCOUNT_REFUNDED,
    Account,
    account_id,
    account_key,
    aggregate_of,
    movement,
)

MAX_AMOUNT = 100_000_000
"""₦1,000,000 in kobo, for one movement."""
MAX_BALANCE = 10**15
"""Far within what a JSON reader that knows only doubles still reads exactly (2^53, RFC 8259 §6)."""


class Amount(Body):
    """`amount` is in kobo."""

    amount: Annotated[int, Field(ge=1, le=MAX_AMOUNT)]
    currency: Literal["NGN"] = "NGN"


class RefundOf(Body):
    """`charge` is the number at the end of the charge's event id: 3 of `account-…-charged.3`."""

    charge: Annotated[int, Field(ge=1, le=10**9)]


def charge_key(account_id: str, number: int) -> Key:
    return Key("shop", aggregate_of(account_id), f"charge-{number}")


def _credit(intent: Intent[Amount], found: Found, now: datetime) -> Step:
    account, amount = _account(intent, found), intent.payload.amount
    if account.balance + amount > MAX_BALANCE:
        raise Problem(409, "wallet_full", "The wallet cannot hold that much.")
    return movement(account, ACCOUNT_CREDITED, amount, intent=intent, now=now)


def _charge(intent: Intent[Amount], found: Found, now: datetime) -> Step:
    account, amount = _account(intent, found), intent.payload.amount
    if account.balance < amount:
        raise Problem(402, "insufficient_funds", "There is not that much in the wallet.")
    charge = Put(charge_key(account.id, account.sequence + 1), {"amount": amount})
    return movement(account, ACCOUNT_CHARGED, -amount, intent=intent, now=now, also=[charge])


def _refund(intent: Intent[RefundOf], found: Found, now: datetime) -> Step:
    account, charge = _account(intent, found), found["charge"]
    if charge is None:
        raise not_found()
    if "refundedAt" in charge:
        raise Problem(409, "already_refunded", "This charge has been refunded before.")
    refunded = Update(
        charge_key(account.id, intent.payload.charge),
        set={"refundedAt": int(now.timestamp() * 1000)},
        condition=AllOf((Exists(), Absent("refundedAt"))),
    )
    return movement(account, ACCOUNT_REFUNDED, int(charge["amount"]), intent=intent, now=now, also=[refunded])


def _account(intent: Intent[Any], found: Found) -> Account:
    return Account.from_item(account_id(intent.caller), found["account"])


def _home(intent: Intent[Any]) -> str:
    return aggregate_of(account_id(intent.caller))


def _its_account(intent: Intent[Any]) -> Mapping[str, Key]:
    return {"account": account_key(account_id(intent.caller))}


def _account_and_charge(intent: Intent[RefundOf]) -> Mapping[str, Key]:
    return {**_its_account(intent), "charge": charge_key(account_id(intent.caller), intent.payload.charge)}


CREDIT = Change(
    "POST /wallet/credits",
    Amount,
    _home,
    _its_account,
    _credit,
    summary="Put money into the caller's wallet",
    refusals={409: "The wallet cannot hold that much."},
)
CHARGE = Change(
    "POST /wallet/charges",
    Amount,
    _home,
    _its_account,
    _charge,
    summary="Pay from the caller's wallet",
    refusals={402: "There is not that much in the wallet."},
)
REFUND = Change(
    "POST /wallet/refunds",
    RefundOf,
    _home,
    _account_and_charge,
    _refund,
    summary="Give a charge back to the caller's wallet, once",
    refusals={404: "There is no such charge of the caller's.", 409: "The charge has been refunded before."},
)
