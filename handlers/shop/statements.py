"""The account statement: a line for each movement, and at its foot the balance that it closes with.

Lines could be written in any order; the foot could not: a movement that came late would close the statement
with a balance of the past. That is why its subscriber is an ordered one.
"""

from collections.abc import Sequence

from ..postroom.events import Event
from ..postroom.storage import Key, Put, Update, Write
from .accounts import AccountMoved, aggregate_of


def line_key(account_id: str, sequence: int) -> Key:
    """Padded, so that a query returns the lines in their order."""
    return Key("shop", aggregate_of(account_id), f"statement-{sequence:09d}")


def foot_key(account_id: str) -> Key:
    return Key("shop", aggregate_of(account_id), "statement")


def entry(event: Event[AccountMoved]) -> Sequence[Write]:
    """One movement on the statement. Amounts and balances are in kobo."""
    moved = event.data
    line = {
        "movement": event.type,
        "amount": moved.amount,
        "balance": moved.balance,
        "movedAt": int(event.time.timestamp() * 1000),
    }
    foot = {"balance": moved.balance, "lines": event.sequence, "owner": event.owner}
    return [
        Put(line_key(moved.account_id, event.sequence), line),
        Update(foot_key(moved.account_id), set=foot, condition=None),
    ]
