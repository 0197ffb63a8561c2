"""Every change of a job's row, as one conditional write each.

The row is status, processed marker and failure ledger in one item, so recording what happened *is* the
deduplication. Rows of jobs that are retrying or dead carry the keys of two sparse indexes: `open` (the state)
for the operator and `ownedOpen` (state and owner) for the owner, both ordered by `since`. A job that
completes at once never touches them; one that fails pays for its entries when it starts to retry and when it
dies, and nothing for the retries between, because `since` is when its state began.
"""

import traceback
from dataclasses import replace
from pathlib import PurePath
from typing import Any

from .deliveries import OPEN_STATES, Delivery, is_cut_off
from .errors import ProviderError, Withdrawn
from .jobs import RETENTION_SECONDS, Result
from .redaction import redact
from .storage import Absent, AllOf, AnyOf, Compare, Condition, Item, Key, OneOf, Update

LEDGER_ENTRIES = 20
"""Entries kept of a job's failures: the first ones and the latest, so that the row stays small."""
_FIRST_KEPT = 5
_MESSAGE_CHARACTERS = 300
_MAY_HAVE_ACTED = "A try before the cancellation was cut off: what it was about may have happened."

_WHILE_OPEN = ("open", "ownedOpen", "since", "starting", "leaseUntil", "cancelling", "place")
"""What a row carries only until its job has an outcome."""

UNSETTLED: Condition = AnyOf((Absent("state"), OneOf("state", OPEN_STATES)))
"""Holds while nobody has recorded an outcome: of any number of racing deliveries, one records it."""


def completed(delivery: Delivery[Any], result: Result, now: float, *, runs: int = 0) -> Update:
    """`runs` is how many runs this adds to the attempts. `now` is epoch seconds, here and below."""
    return Update(
        delivery.row_key,
        set={**_identity(delivery), **_ended("completed", now), "result": dict(result)},
        add={"attempts": runs} if runs else {},
        remove=_WHILE_OPEN,
        condition=UNSETTLED,
    )


def expired(delivery: Delivery[Any], now: float) -> Update:
    return _unrun(delivery, "expired", now)


def withdrawn(delivery: Delivery[Any], reason: Withdrawn, now: float) -> Update:
    """End a job whose work was taken back, as its own delivery has found out; the row says why."""
    return _unrun(delivery, "cancelled", now, why=redact(str(reason))[:_MESSAGE_CHARACTERS])


def failed(delivery: Delivery[Any], error: BaseException, *, dead: bool, now: float) -> Update:
    """Add to the ledger and the count of attempts; the job is then retrying, or dead with its ledger."""
    entry = failure(error, delivery.attempt, now)
    return _told(delivery, entry, delivery.uncounted_attempts, dead=dead, now=now)


def given_up(delivery: Delivery[Any], error: BaseException, now: float) -> Update:
    """End a job that its queue has given up on while no run had reported an end.

    `delivery` was read from the dead-letter queue, which is no run. Whoever has touched the row since it was
    read knows better, so the write is then refused.
    """
    entry = failure(error, delivery.attempts_before, now)
    update = _told(delivery, entry, delivery.unexplained_receives, dead=True, now=now)
    return replace(update, condition=AllOf((UNSETTLED, _as_seen(delivery, "messageId"))))


def _told(delivery: Delivery[Any], entry: Item, runs: int, *, dead: bool, now: float) -> Update:
    ledger = list(delivery.row.get("failures", ())) if delivery.row else []
    trimmed = {"failures": _trim([*ledger, entry])} if len(ledger) >= LEDGER_ENTRIES else {}
    return Update(
        delivery.row_key,
        set={
            **_identity(delivery),
            **(_ended("dead", now) if dead else _opened("retrying", now)),
            **_receive(delivery),
            **_listed(delivery, "dead" if dead else "retrying", now),
            **trimmed,
        },
        add={"attempts": runs},
        append={} if trimmed else {"failures": [entry]},
        remove=("starting", "leaseUntil"),
        condition=UNSETTLED,
    )


def starting(delivery: Delivery[Any], now: float) -> Update:
    """Count a run before it starts, because an earlier one left no trace and this one may not either.

    A record so marked runs after those without a mark: one that kills its process takes no neighbour along.
    """
    return Update(
        delivery.row_key,
        set={
            **_identity(delivery),
            **_opened("retrying", now),
            **_receive(delivery),
            **_listed(delivery, "retrying", now),
            "starting": delivery.record.receive_count,
        },
        add={"attempts": delivery.uncounted_attempts},
        condition=UNSETTLED,
    )


def claimed(delivery: Delivery[Any], lease_until: float, now: float) -> Update:
    """Hold every other delivery off while this run calls its provider; counts the run, as `starting` does.

    `lease_until` is epoch seconds, a moment after the invocation's own deadline: a claim never ends before
    its run does.
    """
    return Update(
        delivery.row_key,
        set={
            **_identity(delivery),
            **_opened("running", now),
            **_receive(delivery),
            "leaseUntil": int(lease_until * 1000),
            "starting": delivery.record.receive_count,
        },
        add={"attempts": delivery.uncounted_attempts},
        condition=AllOf((UNSETTLED, _as_seen(delivery, "leaseUntil"))),
    )


def cancelled(key: Key, owner: str, now: float) -> Update:
    """End a job that has not started. Raises no alarm and leaves no effect."""
    return Update(
        key,
        set={"owner": owner, **_ended("cancelled", now)},
        remove=_WHILE_OPEN,
        condition=AnyOf((Absent("state"), Compare("state", "=", "retrying"))),
    )


def called_off(delivery: Delivery[Any], now: float) -> Update:
    """End a job that its owner has asked to stop: its own delivery has found that out before a run."""
    why = {"why": _MAY_HAVE_ACTED} if is_cut_off(delivery) else {}
    update = _unrun(delivery, "cancelled", now, **why)
    return replace(update, condition=AllOf((UNSETTLED, _as_seen(delivery, "leaseUntil"))))


def _unrun(delivery: Delivery[Any], state: str, now: float, **more: str) -> Update:
    return Update(
        delivery.row_key,
        set={**_identity(delivery), **_ended(state, now), **more},
        remove=_WHILE_OPEN,
        condition=UNSETTLED,
    )


def cancelling(key: Key, owner: str, now: float) -> Update:
    """Ask for a cancellation where the effect may be under way: the next delivery ends the job unrun.

    A claimed call that was cut off, and must not be repeated, ends dead all the same.
    """
    return Update(
        key,
        set={"owner": owner, "cancelling": int(now * 1000), "expires": _expires(now)},
        condition=UNSETTLED,
    )


def parked(delivery: Delivery[Any], now: float) -> Update:
    """An event that came before its turn: its message is acknowledged, and sent again when the turn comes."""
    return Update(
        delivery.row_key,
        set={
            **_identity(delivery),
            **_opened("parked", now),
            "received": 0,
            "place": delivery.event.sequence,
            **_listed(delivery, "parked", now),
        },
        remove=("starting",),
        condition=UNSETTLED,
    )


def given_back(delivery: Delivery[Any], now: float) -> Update:
    """Explain a receive that ran nothing, so that it is not taken for a crashed run."""
    return Update(
        delivery.row_key,
        set={**_identity(delivery), **_receive(delivery), "expires": _expires(now)},
        add={"attempts": delivery.unexplained_receives},
        condition=UNSETTLED,
    )


def reopened(delivery: Delivery[Any], now: float) -> Update:
    """A redrive: attempts start again, the ledger stays, `generation` tells how often this happened."""
    assert delivery.row is not None
    return Update(
        delivery.row_key,
        set={
            **_opened("retrying", now),
            "attempts": 0,
            "messageId": delivery.record.message_id,
            "received": delivery.record.receive_count - 1,
            **_listed(delivery, "retrying", now),
        },
        add={"generation": 1},
        remove=("endedAt",),
        condition=AllOf(
            (Compare("state", "=", "dead"), Compare("messageId", "=", delivery.row.get("messageId")))
        ),
    )


def skipped(key: Key, by: str, text: str, now: float) -> Update:
    """Let a dead job rest: its letter is gone for good, and the row says by whom and why."""
    note = {"at": int(now * 1000), "by": by, "text": text[:_MESSAGE_CHARACTERS]}
    return Update(key, set={"note": note, "expires": _expires(now)}, condition=Compare("state", "=", "dead"))


def failure(error: BaseException, attempt: int, now: float) -> Item:
    """One entry of the ledger: when, which run, what, where, and the provider's answer; no personal data."""
    entry: dict[str, Any] = {
        "at": int(now * 1000),
        "attempt": attempt,
        "error": type(error).__name__,
        "message": redact(str(error))[:_MESSAGE_CHARACTERS],
    }
    if isinstance(error, ProviderError):
        entry["answer"] = error.status
    frames = traceback.extract_tb(error.__traceback__)
    if frames:
        entry["where"] = f"{PurePath(frames[-1].filename).name}:{frames[-1].lineno} {frames[-1].name}"
    return entry


def _as_seen(delivery: Delivery[Any], name: str) -> Condition:
    """Holds while the attribute is what it was when the row was read: nobody else has taken the job on."""
    seen = (delivery.row or {}).get(name)
    return Absent(name) if seen is None else Compare(name, "=", seen)


def _identity(delivery: Delivery[Any]) -> dict[str, Any]:
    return {
        "owner": delivery.event.owner,
        "messageId": delivery.record.message_id,
        "publication": delivery.record.publication,
    }


def owned_open(owner: str, state: str) -> str:
    """The partition of the owner's index that lists a caller's jobs in one state."""
    return f"{state}#{owner}"


def changed_at(row: Item) -> int:
    """When a row was last written, in epoch seconds: every write sets its expiry anew."""
    return int(row.get("expires", 0)) - RETENTION_SECONDS


def _listed(delivery: Delivery[Any], state: str, now: float) -> dict[str, Any]:
    row = delivery.row or {}
    stays = row.get("open") == state and "since" in row
    owner = delivery.event.owner
    since = row["since"] if stays else int(now * 1000)
    return {"open": state, "ownedOpen": owned_open(owner, state), "since": since}


def _receive(delivery: Delivery[Any]) -> dict[str, Any]:
    return {"received": delivery.record.receive_count}


def _ended(state: str, now: float) -> dict[str, Any]:
    return {"state": state, "endedAt": int(now * 1000), "expires": _expires(now)}


def _opened(state: str, now: float) -> dict[str, Any]:
    return {"state": state, "expires": _expires(now)}


def _expires(now: float) -> int:
    return int(now) + RETENTION_SECONDS


def _trim(entries: list[Any]) -> list[Any]:
    return entries[:_FIRST_KEPT] + entries[_FIRST_KEPT - LEDGER_ENTRIES :]
