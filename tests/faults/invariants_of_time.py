"""Invariant 8: what is due comes once, in its time."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

from handlers.shop.login_codes import VALID_SECONDS
from tests.faults.evidence import Change
from tests.faults.providers import Arrival
from tests.faults.world import World

Findings = Iterator[str]
PATIENCE_SECONDS = 10.0
"""How long a call that was begun in time may take."""
DAY_PREFIX = "day-"


def reminders_come_when_due(world: World) -> Findings:
    """Once, not before their time, and not at all when they were cancelled ahead of it."""
    for item in (item for item in world.shop_items if item["pk"].startswith("reminder-")):
        due, mails = item["dueAt"] / 1000, _about(world, item["pk"])
        if item.get("cancelledAt", due * 1000) < due * 1000:
            if mails:
                yield f"{item['pk']} was cancelled, and sent all the same"
            continue
        if len({mail.message_id for mail in mails}) != 1:
            yield f"{item['pk']} was sent {len({mail.message_id for mail in mails})} times"
        if any(mail.at < due for mail in mails):
            yield f"{item['pk']} was sent before it was due"


def codes_come_in_time(world: World) -> Findings:
    """Or not at all; and each is used once at most."""
    for item in (item for item in world.shop_items if item["pk"].startswith("login-")):
        latest = item["bornAt"] / 1000 + VALID_SECONDS + PATIENCE_SECONDS
        for mail in _about(world, item["pk"]):
            if mail.at > latest:
                yield f"the code of {item['pk']} was sent {mail.at - latest:.0f} s too late"
        uses = Counter(
            answer.status
            for asked in world.clients.log
            if item["pk"].removeprefix("login-") in asked.route
            for answer in asked.answers
        )
        if uses[204] > 1:
            yield f"the code of {item['pk']} was used {uses[204]} times"


def _about(world: World, aggregate: str) -> Sequence[Arrival]:
    return [arrival for arrival in world.mailroom.arrivals if aggregate in arrival.message_id]


def each_date_is_rolled_up_once(world: World) -> Findings:
    """Every business date that was over at the last tick, with the sum of its orders."""
    written = Counter(change.sk for change in world.changes if _is_new_date(change))
    if not written:
        return
    zone = ZoneInfo(world.stack.functions["RollupFunction"].settings.environ["ROLLUP_TIME_ZONE"])
    days = {item["sk"]: item for item in world.shop_items if item["pk"] == "rollup"}
    last = max(item["rolledUpAt"] for sk, item in days.items() if sk.startswith(DAY_PREFIX))
    sums: dict[str, list[int]] = defaultdict(list)
    for item in world.orders:
        sums[f"{DAY_PREFIX}{_date(item['bornAt'], zone)}"].append(item["amount"])
    for sk, amounts in sums.items():
        if sk >= f"{DAY_PREFIX}{_date(last, zone)}":
            continue
        found = days.get(sk, {})
        if written[sk] != 1:
            yield f"{sk} was rolled up {written[sk]} times"
        if (found.get("orders"), found.get("amount")) != (len(amounts), sum(amounts)):
            yield f"{sk} says {found.get('amount')}, and its orders are {sum(amounts)}"


def _is_new_date(change: Change) -> bool:
    return change.pk == "rollup" and change.sk.startswith(DAY_PREFIX) and "correctedAt" not in change.item


def _date(epoch_ms: int, zone: ZoneInfo) -> date:
    return datetime.fromtimestamp(epoch_ms / 1000, UTC).astimezone(zone).date()


OF_TIME: Mapping[str, Callable[[World], Findings]] = {
    "8 reminders come when due": reminders_come_when_due,
    "8 codes come in time": codes_come_in_time,
    "8 each date is rolled up once": each_date_is_rolled_up_once,
}
