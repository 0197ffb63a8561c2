from __future__ import annotations

import pytest

from infra.local.schedules import Schedule, UnknownScheduleError, interval_of
from tests.unit.local.functions import Probe


def poll(schedule: Schedule) -> int:
    work = schedule.claim()
    return work() if work else 0


@pytest.mark.parametrize(
    ("expression", "seconds"),
    [("rate(1 minute)", 60), ("rate(5 minutes)", 300), ("rate(2 hours)", 7200), ("rate(1 day)", 86400)],
)
def test_rate_is_read(expression: str, seconds: float) -> None:
    assert interval_of(expression) == seconds


@pytest.mark.parametrize("expression", ["cron(0 2 * * ? *)", "at(2026-01-01T00:00:00)", "rate(1 week)"])
def test_other_schedules_are_refused_by_name(expression: str) -> None:
    with pytest.raises(UnknownScheduleError, match=r"cron|at|week"):
        interval_of(expression)


def test_function_is_called_once_an_interval_and_not_before() -> None:
    probe = Probe()
    schedule = Schedule("Tick", probe.function, 60, probe.clock)

    calls = []
    for step in (59.9, 0.1, 59.9, 0.1):
        probe.clock.now += step
        calls.append(poll(schedule))

    assert calls == [0, 1, 0, 1]


def test_missed_calls_are_not_made_up_for() -> None:
    probe = Probe()
    schedule = Schedule("Tick", probe.function, 60, probe.clock)
    start = probe.clock.now

    probe.clock.now += 605
    assert (poll(schedule), poll(schedule)) == (1, 0)
    assert schedule.next_due() == start + 660


def test_own_input_replaces_the_event() -> None:
    probe = Probe()
    schedule = Schedule("Tick", probe.function, 60, probe.clock, payload={"a": 1})
    probe.clock.now += 60

    poll(schedule)

    assert probe.events == [{"a": 1}]
