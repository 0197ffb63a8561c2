"""Bugs that people really write, planted one by one through the product's ports: the sweep must see each."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from handlers.postroom.aws.entry import Entry
from tests.faults.kinds import (
    count,
    stamp_and_count,
    stamp_three_times,
    stumble,
)
from tests.faults.planted_consumers import (
    MAILED_BY_ATTEMPT,
    TELLING,
    Rewired,
    acked_first,
    all_acked,
    by_message_id,
    given_back_acked,
    killed_by_receives,
    unclaimed,
)
from tests.faults.planted_path import (
    DeafTopic,
    everybodys_status,
    never_refunding,
    overruling_watch,
    relay,
    republishing,
    sweep_marking_first,
)
from tests.faults.planted_shop import (
    NAMING_ATTEMPTS,
    PATIENT_CODES,
    RINGING_ALWAYS,
    RINGING_ANEW,
    Anew,
    DropsWhatIsEarly,
    ForgetsWhoWaits,
    SkipsGaps,
    Yesterday,
    advancing_first,
    clearing_first,
    never_rewinding,
    rolling_up,
    writing,
)
from tests.faults.planted_stores import (
    ConflictIsDuplicate,
    DeadIsDead,
    MarkerFirst,
    MarkerLast,
    Unconditional,
)
from tests.faults.product import checkout_with
from tests.faults.template import handler_of
from tests.faults.world import Setting, World


@dataclass(frozen=True)
class Bug:
    """`shows_in` are the scenarios that are swept until one of them breaks an invariant."""

    name: str
    shows_in: tuple[str, ...]
    plant: Callable[[Setting], Setting]


RELAY, SWEEP = "handlers.stream_relay.handler", "handlers.schedule_sweep.handler"
GIFTS = "handlers.queue_gifts.handler"


def consumed_by(subscriber: str, rewired: Callable[[World], Entry]) -> Callable[[Setting], Setting]:
    return entry(handler_of(subscriber), rewired)


def counting(rewired: Rewired) -> Callable[[Setting], Setting]:
    return consumed_by("counting", rewired)


def entry(handler: str, make: Callable[[World], Entry]) -> Callable[[Setting], Setting]:
    return lambda setting: replace(setting, entries={**setting.entries, handler: make})


def cards(make: Callable[[World], Entry]) -> Callable[[Setting], Setting]:
    return entry("handlers.api_checkout.handler", make)


ROLLUP = "handlers.schedule_rollup.handler"

_EARLY, _BEHIND = ("statement, early",), ("statement, behind a dead letter",)
_RACED = "checkout, raced by another payload"
_COUNTING, _FRAIL = ("commit, grouped",), ("redrive after a permanent error",)

BUGS: Sequence[Bug] = (
    Bug("marker written first", _COUNTING, counting(Rewired(count, store=MarkerFirst))),
    Bug(
        "marker written after the effect",
        _COUNTING,
        counting(Rewired(count, store=MarkerLast)),
    ),
    Bug(
        "acknowledged before the effect",
        _COUNTING,
        counting(Rewired(count, before=acked_first)),
    ),
    Bug(
        "retry acknowledged",
        ("commit, singly",),
        consumed_by("stumbling", Rewired(stumble, answered=all_acked)),
    ),
    Bug(
        "given back, and acknowledged",
        ("call, short of time",),
        consumed_by("stamping", Rewired(stamp_and_count, answered=given_back_acked)),
    ),
    Bug("deduplicated by message id", _COUNTING, entry("handlers.queue_counting.handler", by_message_id)),
    Bug(
        "dead on first sight of a redriven message",
        _FRAIL,
        consumed_by("frail", Rewired(stamp_three_times, store=DeadIsDead, one_by_one=True)),
    ),
    Bug(
        "killed by its receive count",
        _COUNTING,
        counting(Rewired(count, before=killed_by_receives)),
    ),
    Bug(
        "conflict read as duplicate",
        _COUNTING,
        counting(Rewired(count, store=ConflictIsDuplicate)),
    ),
    Bug("idempotency key of the attempt", ("receipts",), consumed_by("receipts", MAILED_BY_ATTEMPT)),
    Bug("call made without its claim", ("claimed call, dead in doubt",), entry(GIFTS, unclaimed)),
    Bug("ledger tells the address", ("dead at once",), consumed_by("receipts", TELLING)),
    Bug("publish result ignored", ("relay",), entry(RELAY, relay(topic=DeafTopic))),
    Bug(
        "marked before it is published",
        ("sweep",),
        entry("handlers.schedule_sweep.handler", sweep_marking_first),
    ),
    Bug("changes published too", ("relay",), republishing),
    Bug(
        "order put without condition",
        (_RACED,),
        cards(checkout_with(Unconditional)),
    ),
    Bug("refund forgotten", (_RACED,), cards(never_refunding)),
    Bug("status shown to everybody", ("status",), entry("handlers.api_jobs.handler", everybodys_status)),
    Bug(
        "watch overrules a result",
        ("redrive of what was done",),
        entry("handlers.schedule_watch.handler", overruling_watch),
    ),
    Bug("early event not parked", _BEHIND, consumed_by("statement", writing(DropsWhatIsEarly))),
    Bug("gap in a line not seen", _EARLY, consumed_by("statement", writing(SkipsGaps))),
    Bug("parked event never released", _BEHIND, consumed_by("statement", writing(ForgetsWhoWaits))),
    Bug(
        "step's progress written before its messages",
        ("campaign, in steps",),
        entry(handler_of("campaigns"), advancing_first),
    ),
    Bug("reminder's key of the attempt", ("reminders",), consumed_by("reminders", RINGING_ANEW)),
    Bug("cancelled reminder rings", ("remind",), consumed_by("reminders", RINGING_ALWAYS)),
    Bug("login code without deadline", ("login codes, too late",), consumed_by("login-codes", PATIENT_CODES)),
    Bug("roll-up of the tick's yesterday", ("roll-up",), entry(ROLLUP, rolling_up(Yesterday))),
    Bug("roll-up written anew by each tick", ("roll-up",), entry(ROLLUP, rolling_up(Anew))),
    Bug(
        "webhook id of the attempt",
        ("webhooks, of a receiver that is down",),
        consumed_by("webhooks", NAMING_ATTEMPTS),
    ),
    Bug(
        "due time cleared before it is published",
        ("webhooks, due",),
        entry("handlers.schedule_webhooks.handler", clearing_first),
    ),
    Bug(
        "end of a job not told, and not told again",
        ("webhooks, of ends",),
        entry("handlers.stream_webhooks.handler", never_rewinding),
    ),
)
