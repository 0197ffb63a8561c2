"""When schedules run, zones and changes of clocks included.

https://docs.aws.amazon.com/scheduler/latest/UserGuide/schedule-types.html
"""

import itertools
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from infra.local.aws.clock import MILLISECONDS, milliseconds
from infra.local.aws.scheduler.expressions import ExpressionError, parse

BERLIN = "Europe/Berlin"  # 2026: clocks go from 02:00 to 03:00 on 29 March, from 03:00 to 02:00 on 25 October
NIGHTLY = "cron(0 2 * * ? *)"


def epoch_ms(text: str) -> int:
    return milliseconds(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp())


def runs(expression: str, zone: str, since: str) -> Iterator[str]:
    """In UTC."""
    parsed = parse(expression, zone, epoch_ms(since))
    due = parsed.next_after(epoch_ms(since))
    while due is not None:
        yield f"{datetime.fromtimestamp(due / MILLISECONDS, UTC):%Y-%m-%d %H:%M}"
        due = parsed.next_after(due)


def first(count: int, expression: str, zone: str, since: str) -> list[str]:
    return list(itertools.islice(runs(expression, zone, since), count))


def test_a_local_time_moves_with_its_zones_clocks() -> None:
    assert first(1, NIGHTLY, "Africa/Lagos", "2026-07-01T12:00") == ["2026-07-02 01:00"]
    assert first(1, NIGHTLY, BERLIN, "2026-07-01T12:00") == ["2026-07-02 00:00"]
    assert first(1, NIGHTLY, BERLIN, "2026-12-01T12:00") == ["2026-12-02 01:00"]


def test_a_local_time_that_does_not_exist_is_skipped() -> None:
    assert first(3, NIGHTLY, BERLIN, "2026-03-27T12:00") == [
        "2026-03-28 01:00",
        "2026-03-30 00:00",
        "2026-03-31 00:00",
    ]


def test_a_local_time_that_exists_twice_counts_once() -> None:
    assert first(3, "cron(30 2 * * ? *)", BERLIN, "2026-10-23T12:00") == [
        "2026-10-24 00:30",
        "2026-10-25 00:30",
        "2026-10-26 01:30",
    ]


def test_even_when_asked_for_in_the_middle_of_the_hour_that_comes_twice() -> None:
    assert first(2, "cron(30 2 * * ? *)", BERLIN, "2026-10-25T00:45") == [
        "2026-10-26 01:30",
        "2026-10-27 01:30",
    ]


def test_a_rate_in_days_counts_24_hours_whatever_clocks_do() -> None:
    assert first(2, "rate(1 day)", BERLIN, "2026-03-28T12:00") == ["2026-03-29 12:00", "2026-03-30 12:00"]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("rate(1 minute)", ["2026-01-01 00:01", "2026-01-01 00:02"]),
        ("rate(5 minutes)", ["2026-01-01 00:05", "2026-01-01 00:10"]),
        ("rate(2 hours)", ["2026-01-01 02:00", "2026-01-01 04:00"]),
        ("at(2026-01-01T10:00:00)", ["2026-01-01 10:00"]),
        ("at(2025-12-31T10:00:00)", []),
        ("cron(15 10 ? * 6L 2026-2027)", ["2026-01-30 10:15", "2026-02-27 10:15"]),
        ("cron(0/20 8-9 ? * MON-FRI *)", ["2026-01-01 08:00", "2026-01-01 08:20"]),
        ("cron(5,35 14 * * ? *)", ["2026-01-01 14:05", "2026-01-01 14:35"]),
        ("cron(0 0 L * ? *)", ["2026-01-31 00:00", "2026-02-28 00:00"]),
        ("cron(0 0 ? * 2#1 *)", ["2026-01-05 00:00", "2026-02-02 00:00"]),
        ("cron(0 0 ? * SUN,WED *)", ["2026-01-04 00:00", "2026-01-07 00:00"]),
        ("cron(0 0 ? * L *)", ["2026-01-03 00:00", "2026-01-10 00:00"]),
        ("cron(0 0 31W * ? *)", ["2026-01-30 00:00", "2026-03-31 00:00"]),
        ("cron(0 0 1W * ? *)", ["2026-02-02 00:00", "2026-03-02 00:00"]),
        ("cron(0 0 1 JAN,JUL ? *)", ["2026-07-01 00:00", "2027-01-01 00:00"]),
        ("cron(0 0 29 2 ? *)", ["2028-02-29 00:00", "2032-02-29 00:00"]),
        ("cron(0 0 30 2 ? *)", []),
        ("cron(0 0 1 1 ? 2026)", []),
    ],
)
def test_expressions_mean_what_the_guide_says(expression: str, expected: list[str]) -> None:
    assert first(2, expression, "UTC", "2026-01-01T00:00") == expected


def test_what_a_zone_does_not_have_is_refused_as_a_one_time_schedule() -> None:
    with pytest.raises(ExpressionError, match="does not exist"):
        parse("at(2026-03-29T02:30:00)", BERLIN, 0)


@pytest.mark.parametrize(
    "fields",
    [
        "0 2 * * ?",
        "0 2 * * * *",
        "0 2 ? * ? *",
        "60 2 * * ? *",
        "0 2 0 * ? *",
        "0 2 * 13 ? *",
        "0 2 ? * 8 *",
        "0/0 2 * * ? *",
        "5-1 2 * * ? *",
        "x 2 * * ? *",
        ", 2 * * ? *",
        "0 2 ? * MON#6 *",
        "0 2 * * ? 1969",
    ],
)
def test_what_is_no_cron_expression_is_refused(fields: str) -> None:
    with pytest.raises(ExpressionError, match="Invalid Schedule Expression"):
        parse(f"cron({fields})", "UTC", 0)
