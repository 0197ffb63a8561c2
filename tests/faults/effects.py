"""How often a subscriber's effect has happened for an event, in the eyes of whoever had it."""

from collections.abc import Callable, Mapping

from handlers.postroom.storage import Key
from handlers.shop.loyalty import points_for
from handlers.shop.statements import line_key
from tests.faults.evidence import Promised
from tests.faults.kinds import tally_key
from tests.faults.world import World

Times = Callable[[World, Promised], int]


def _mails(world: World, promised: Promised) -> int:
    return sum(1 for message_id in world.mailroom.mails if promised.subject in message_id)


def _invoices(world: World, promised: Promised) -> int:
    return sum(1 for name in world.files if promised.subject in name)


def _points(world: World, promised: Promised) -> int:
    entries = [
        each
        for each in world.shop_items
        if each["sk"].startswith("points-") and each["orderId"] == promised.subject
    ]
    assert all(entry["points"] == points_for(promised.event["data"]["amount"]) for entry in entries)
    return len(entries)


def _beside(sk: str) -> Times:
    """An item of the event's aggregate."""
    return lambda world, promised: _written(world, Key("shop", promised.event["aggregate"], sk))


def _line(world: World, promised: Promised) -> int:
    return _written(world, line_key(promised.subject, promised.event["sequence"]))


def _written(world: World, key: Key) -> int:
    return sum(1 for change in world.changes if (change.pk, change.sk) == (key.pk, key.sk))


def _tally(subscriber: str) -> Times:
    def times(world: World, promised: Promised) -> int:
        key = tally_key(promised.subject, subscriber)
        return next((each["times"] for each in world.shop_items if (each["pk"], each["sk"]) == key[1:]), 0)

    return times


def _stamps(world: World, promised: Promised) -> int:
    return sum(1 for key in world.front.stamped if promised.event["aggregate"] in key)


def _prints(world: World, promised: Promised) -> int:
    return world.front.printed.count(promised.subject)


def _texts(world: World, promised: Promised) -> int:
    return sum(1 for text in world.rig.aws.sns.phones.texts if promised.subject in text.message)


EFFECTS: Mapping[str, Times] = {
    **dict.fromkeys(("receipts", "welcome", "password-reset", "login-codes"), _mails),
    "invoices": _invoices,
    "loyalty": _points,
    "warehouse": _beside("pick"),
    "sales": _beside("sale"),
    "statement": _line,
    "shipping-sms": _texts,
    "counting": _tally("counting"),
    "stumbling": _tally("stumbling"),
    "stamping": lambda world, promised: max(_tally("stamping")(world, promised), _stamps(world, promised)),
    "frail": _stamps,
    "labels": _prints,
    "gifts": _prints,
}
"""Of those whose effect happens once for an event. Steps, timers and deliveries are judged by themselves."""
