"""How often a subscriber's effect has happened for an order, in the eyes of whoever had it."""

from collections.abc import Callable, Mapping

from handlers.postroom.storage import Item
from handlers.shop.loyalty import points_for
from tests.faults.kinds import tally_key
from tests.faults.world import World


def _mails(world: World, item: Item) -> int:
    return sum(1 for message_id in world.mailroom.mails if item["pk"] in message_id)


def _invoices(world: World, item: Item) -> int:
    order = item["pk"].removeprefix("order-")
    return sum(1 for name in world.files if order in name)


def _points(world: World, item: Item) -> int:
    entries = [
        each
        for each in world.shop_items
        if each["sk"].startswith("points-") and each["orderId"] == item["pk"].removeprefix("order-")
    ]
    assert all(entry["points"] == points_for(item["amount"]) for entry in entries)
    return len(entries)


def _picks(world: World, item: Item) -> int:
    return sum(1 for each in world.shop_items if each["pk"] == item["pk"] and each["sk"] == "pick")


def _tally(subscriber: str) -> Callable[[World, Item], int]:
    def times(world: World, item: Item) -> int:
        key = tally_key(item["pk"].removeprefix("order-"), subscriber)
        return next((each["times"] for each in world.shop_items if (each["pk"], each["sk"]) == key[1:]), 0)

    return times


def _stamps(world: World, item: Item) -> int:
    return sum(1 for key in world.front.stamped if item["pk"] in key)


def _prints(world: World, item: Item) -> int:
    return world.front.printed.count(item["pk"].removeprefix("order-"))


EFFECTS: Mapping[str, Callable[[World, Item], int]] = {
    "receipts": _mails,
    "invoices": _invoices,
    "loyalty": _points,
    "warehouse": _picks,
    "counting": _tally("counting"),
    "stumbling": _tally("stumbling"),
    "stamping": lambda world, item: max(_tally("stamping")(world, item), _stamps(world, item)),
    "frail": _stamps,
    "labels": _prints,
    "gifts": _prints,
}
