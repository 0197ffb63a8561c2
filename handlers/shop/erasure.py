"""Erasing a customer: for each kind of item, what of it is personal, and the write that takes it away.

A write that has been made before changes nothing, so whatever stopped half-way is simply done again. What the
customer's subject appears in stays: it is a pseudonym, which the identity provider alone can resolve.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from ..postroom.storage import AllOf, Compare, Delete, Exists, Item, Key, Update, Write
from .audiences import Audience, head_key_of
from .persons import ERASED_AT

MOST_RECIPIENTS = 50
"""Rows that leave an audience in one transaction, which takes a hundred writes."""
EMPTY_RESULT: Item = {"erased": True}


def nothing_more(_item: Item, _now_ms: int) -> Item:
    return {}


def cancelled(item: Item, now_ms: int) -> Item:
    """A reminder that is still to be sent, is not."""
    return {} if item.keys() & {"sent", "cancelledAt"} else {"cancelledAt": now_ms}


def stopped(item: Item, now_ms: int) -> Item:
    """A campaign in the customer's words goes no further, and forgets them."""
    return {"subject": "", "text": "", **({} if "stoppedAt" in item else {"stoppedAt": now_ms})}


@dataclass(frozen=True, slots=True)
class Personal:
    """A kind of entity: what it is counted as, which attributes go, and which are set in their place."""

    counted_as: str
    gone: Sequence[str]
    instead: Callable[[Item, int], Item] = nothing_more


ENTITIES: Mapping[str, Personal] = {
    "order": Personal("orders", ("email", "note", "phone")),
    "customer": Personal("signups", ("name", "email")),
    "reminder": Personal("reminders", ("email", "text", "listed", "listedAt"), cancelled),
    "login": Personal("login codes", ("email",)),
    "campaign": Personal("campaigns", (), stopped),
}
"""By the first word of the partition key."""


def kind_of(item: Item) -> Personal | None:
    """What of an owned item is personal; None for one that says nothing of a person."""
    return ENTITIES.get(str(item["pk"]).partition("-")[0]) if item["sk"] == "entity" else None


def erased(item: Item, now_ms: int) -> Update | None:
    """Take away what is personal of an entity; None where nothing of it is left."""
    personal = kind_of(item)
    if personal is None or (ERASED_AT in item and item.keys().isdisjoint(personal.gone)):
        return None
    return Update(
        _key(item),
        set={**personal.instead(item, now_ms), ERASED_AT: now_ms},
        remove=tuple(name for name in personal.gone if name in item),
        condition=AllOf((Exists(), Compare("owner", "=", item["owner"]))),
    )


def without_note(pick: Item) -> Update | None:
    """The pick of an order keeps its lines, and loses what the customer wrote."""
    return Update(_key(pick), remove=("note",)) if "note" in pick else None


def is_of(recipient: Item, subject: str, addresses: frozenset[str]) -> bool:
    """Whether a row of an audience is the customer's: in a list of hers, or with an address of hers."""
    own = Audience.owner_of(recipient["pk"]) == subject
    return own or str(recipient.get("email", "")).lower() in addresses


def left(recipients: Sequence[Item]) -> list[Sequence[Write]]:
    """Transactions in which rows leave their audiences, whose heads then count so many fewer."""
    ordered = sorted(recipients, key=lambda row: str(row["pk"]))
    lists = [list(rows) for _, rows in groupby(ordered, key=lambda row: str(row["pk"]))]
    parts = [rows[at : at + MOST_RECIPIENTS] for rows in lists for at in range(0, len(rows), MOST_RECIPIENTS)]
    return [_leaving(rows) for rows in parts]


def _leaving(rows: Sequence[Item]) -> Sequence[Write]:
    fewer = Update(head_key_of(rows[0]["pk"]), add={"recipients": -len(rows)})
    return [fewer, *(Delete(_key(row), condition=Exists()) for row in rows)]


def forgotten(job: Item) -> Update | None:
    """A job's row keeps its state and counts, and loses its result, its failures' words and its note's.

    Refused when the row has changed since it was read.
    """
    changes: dict[str, Any] = {}
    if job.get("result") and job["result"] != EMPTY_RESULT:
        changes["result"] = EMPTY_RESULT
    if any(entry.get("message") for entry in job.get("failures", ())):
        changes["failures"] = [{**entry, "message": ""} for entry in job["failures"]]
    if job.get("note", {}).get("text"):
        changes["note"] = {**job["note"], "text": ""}
    if not changes:
        return None
    as_read = AllOf((Exists(), Compare("expires", "=", job["expires"])))
    return Update(Key("jobs", job["pk"], job["sk"]), set=changes, condition=as_read)


def _key(item: Item) -> Key:
    return Key("shop", item["pk"], item["sk"])
