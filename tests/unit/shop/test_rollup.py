"""Every business date is rolled up exactly once, whatever the clocks and the ticks do."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from handlers.postroom.storage import Item, Key
from handlers.shop.orders import ORDER_PAID, OrderPaid, aggregate_of
from handlers.shop.rollup import LEAST_REMAINING_MS, RollUp, day_key
from handlers.shop.sales import list_of, sale_of
from infra.local.aws.clock import MILLISECONDS, milliseconds
from infra.local.aws.scheduler.expressions import parse
from tests.fakes import FakeStore, meanwhile

BERLIN = ZoneInfo("Europe/Berlin")
LAGOS = ZoneInfo("Africa/Lagos")
AT_TWO = "cron(0 2 * * ? *)"
HOUR_SECONDS = 3_600
AN_HOUR_LEFT = HOUR_SECONDS * 1_000


@dataclass
class Entries:
    """Sales that have been entered, listed by the hour as the index lists them."""

    items: list[Item] = field(default_factory=list)

    def enter(self, at: datetime, amount: int = 100) -> None:
        number = str(len(self.items) + 1)
        paid = OrderPaid(order_id=number, customer_id="ada", amount=amount, currency="NGN")
        event = ORDER_PAID.new(aggregate_of(number), paid, sequence=1, time=at, owner="ada", trace="")
        self.items.append(sale_of(event).item)

    def between(self, name: str, since_ms: int, until_ms: int) -> Iterable[Item]:
        return [
            each for each in self.items if each["listed"] == name and since_ms <= each["listedAt"] < until_ms
        ]


def roll_up(zone: ZoneInfo, entries: Entries | None = None) -> RollUp:
    return RollUp(FakeStore(), entries or Entries(), zone)


def store_of(roll_up: RollUp) -> FakeStore:
    assert isinstance(roll_up.store, FakeStore)
    return roll_up.store


def ticks(zone: ZoneInfo, since: datetime, until: datetime) -> Iterator[float]:
    """When EventBridge Scheduler runs the template's expression, which skips what the clocks skip."""
    since_ms, until_ms = milliseconds(since.timestamp()), milliseconds(until.timestamp())
    expression = parse(AT_TWO, zone.key, since_ms)
    tick_ms = expression.next_after(since_ms)
    while tick_ms is not None and tick_ms < until_ms:
        yield tick_ms / MILLISECONDS
        tick_ms = expression.next_after(tick_ms)


def run(roll_up: RollUp, at: float) -> Any:
    return roll_up.run(at, lambda: AN_HOUR_LEFT)


def days(first: date, last: date) -> list[str]:
    return [(first + timedelta(days=number)).isoformat() for number in range((last - first).days + 1)]


def an_order_every_half_hour(entries: Entries, since: datetime, until: datetime) -> None:
    at = since
    while at < until:
        entries.enter(at)
        at += timedelta(minutes=30)


@pytest.mark.parametrize(
    ("zone", "first", "last", "changed", "orders"),
    [
        pytest.param(BERLIN, date(2026, 3, 26), date(2026, 3, 31), "2026-03-29", 46, id="skipped-hour"),
        pytest.param(BERLIN, date(2026, 10, 22), date(2026, 10, 27), "2026-10-25", 50, id="doubled-hour"),
        pytest.param(
            ZoneInfo("Africa/Cairo"),
            date(2026, 4, 21),
            date(2026, 4, 26),
            "2026-04-24",
            46,
            id="skipped-midnight",
        ),
        pytest.param(LAGOS, date(2026, 3, 26), date(2026, 3, 31), "2026-03-29", 48, id="no-change"),
    ],
)
def test_each_business_date_is_rolled_up_once_and_each_order_is_in_one(
    zone: ZoneInfo, first: date, last: date, changed: str, orders: int
) -> None:
    opened = datetime(first.year, first.month, first.day, tzinfo=zone).astimezone(UTC)
    closed = datetime(last.year, last.month, last.day, tzinfo=zone).astimezone(UTC) + timedelta(days=1)
    entries = Entries()
    an_order_every_half_hour(entries, opened, closed)
    rolled = roll_up(zone, entries)

    finished = [
        day
        for tick in ticks(zone, opened, closed + timedelta(days=2))
        for day in run(rolled, tick)["done"]
        if first.isoformat() <= day <= last.isoformat()
    ]

    assert finished == days(first, last)
    sums = {day: store_of(rolled).items[day_key(date.fromisoformat(day))] for day in finished}
    assert sum(each["orders"] for each in sums.values()) == len(entries.items)
    assert sums[changed]["orders"] == orders
    assert sums[changed]["amount"] == orders * 100


@pytest.mark.parametrize("zone", [BERLIN, LAGOS, ZoneInfo("Africa/Cairo"), ZoneInfo("Asia/Kathmandu")])
def test_dates_follow_one_another_without_gap_or_overlap(zone: ZoneInfo) -> None:
    rolled, day = roll_up(zone), date(2026, 1, 1)
    while day.year == 2026:
        assert rolled.bounds_ms(day)[1] == rolled.bounds_ms(day + timedelta(days=1))[0]
        assert 23 <= (rolled.bounds_ms(day)[1] - rolled.bounds_ms(day)[0]) / 3_600_000 <= 25
        day += timedelta(days=1)


def test_two_o_clock_does_not_come_on_the_night_of_the_skipped_hour() -> None:
    night = list(ticks(BERLIN, datetime(2026, 3, 28, 12, tzinfo=UTC), datetime(2026, 3, 29, 12, tzinfo=UTC)))

    assert night == []


def test_a_second_tick_finds_nothing_to_do() -> None:
    rolled, tick = roll_up(LAGOS), datetime(2026, 11, 30, 1, tzinfo=UTC).timestamp()
    run(rolled, tick)

    assert run(rolled, tick) == {"done": [], "corrected": []}


def test_what_was_missed_for_a_month_is_made_up_for() -> None:
    rolled = roll_up(LAGOS)
    run(rolled, datetime(2026, 11, 1, 1, tzinfo=UTC).timestamp())

    late = run(rolled, datetime(2026, 12, 1, 1, tzinfo=UTC).timestamp())

    assert late["done"] == days(date(2026, 11, 1), date(2026, 11, 30))


def test_a_late_tick_does_not_touch_the_date_that_still_runs() -> None:
    rolled = roll_up(LAGOS)

    late = run(rolled, datetime(2026, 11, 30, 22, 59, tzinfo=UTC).timestamp())

    assert late["done"][-1] == "2026-11-29"


def test_of_two_runs_at_once_one_rolls_up() -> None:
    entries = Entries()
    first = roll_up(LAGOS, entries)
    second = RollUp(first.store, entries, LAGOS)
    tick, told = datetime(2026, 11, 30, 1, tzinfo=UTC).timestamp(), []
    store_of(first).faults.on("write", meanwhile(lambda: told.append(run(second, tick))))

    ours = run(first, tick)

    assert sorted(ours["done"] + told[0]["done"]) == days(date(2026, 11, 23), date(2026, 11, 29))


def test_a_run_without_time_goes_on_where_it_stopped() -> None:
    rolled, left = roll_up(LAGOS), iter([LEAST_REMAINING_MS] * 3 + [LEAST_REMAINING_MS - 1])
    tick = datetime(2026, 11, 30, 1, tzinfo=UTC).timestamp()

    cut_off = rolled.run(tick, lambda: next(left))
    rest = run(rolled, tick)

    assert cut_off["done"] + rest["done"] == days(date(2026, 11, 23), date(2026, 11, 29))


def test_a_sale_that_is_entered_late_corrects_its_date() -> None:
    entries = Entries()
    rolled = roll_up(LAGOS, entries)
    run(rolled, datetime(2026, 11, 30, 1, tzinfo=UTC).timestamp())
    entries.enter(datetime(2026, 11, 28, 12, tzinfo=UTC), 2_042_500)

    told = run(rolled, datetime(2026, 12, 1, 1, tzinfo=UTC).timestamp())

    assert told == {"done": ["2026-11-30"], "corrected": ["2026-11-28"]}
    day = store_of(rolled).items[day_key(date(2026, 11, 28))]
    assert (day["orders"], day["amount"]) == (1, 2_042_500)


def test_sales_are_listed_by_the_hour_of_utc() -> None:
    assert list_of(int(datetime(2026, 11, 30, 23, 59, 59, tzinfo=UTC).timestamp() * 1000)) == (
        "sales-2026-11-30T23"
    )


def test_a_roll_up_says_whose_day_it_is() -> None:
    rolled = roll_up(LAGOS)
    run(rolled, datetime(2026, 11, 30, 1, tzinfo=UTC).timestamp())

    day = store_of(rolled).items[Key("shop", "rollup", "day-2026-11-29")]

    assert day["zone"] == "Africa/Lagos"
    assert day["since"] == int(datetime(2026, 11, 28, 23, tzinfo=UTC).timestamp() * 1000)
