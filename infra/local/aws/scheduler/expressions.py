"""When a schedule runs: `at(...)`, `rate(...)` and `cron(...)`, evaluated in a time zone.

https://docs.aws.amazon.com/scheduler/latest/UserGuide/schedule-types.html. AWS is precise to the minute; here
a schedule runs at its very second. All instants are in whole milliseconds since the epoch: fractions of them
would make what is due and what has run hard to tell apart.
"""

import datetime
import re
import zoneinfo
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from infra.local.aws.clock import MILLISECONDS, milliseconds
from infra.local.aws.scheduler.cron import Cron

_EXPRESSION = re.compile(r"(at|rate|cron)\((.*)\)")
_RATE = re.compile(r"([1-9]\d*) (minute|hour|day)s?")
_AT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")
_SECONDS = {"minute": 60, "hour": 3_600, "day": 86_400}
# How far a local time may be ahead of its repetition when clocks go back; real zones shift by an hour or two.
_LOOK_BACK = datetime.timedelta(days=1)


class ExpressionError(ValueError):
    """Not a schedule expression, or a time that its zone does not have."""


class Expression(Protocol):
    """The instants at which something is due."""

    @property
    def is_recurring(self) -> bool: ...

    def next_after(self, instant_ms: int) -> int | None:
        """The first one after an instant; None when there is none."""


@dataclass(frozen=True)
class At:
    """Once."""

    due_ms: int
    is_recurring: bool = False

    def next_after(self, instant_ms: int) -> int | None:
        return self.due_ms if self.due_ms > instant_ms else None


@dataclass(frozen=True)
class Rate:
    """Every so many milliseconds, counted from the start; a day is 24 hours, whatever clocks do."""

    every_ms: int
    start_ms: int
    is_recurring: bool = True

    def next_after(self, instant_ms: int) -> int | None:
        if instant_ms < self.start_ms:
            return self.start_ms
        return self.start_ms + self.every_ms * ((instant_ms - self.start_ms) // self.every_ms + 1)


@dataclass(frozen=True)
class LocalCron:
    """At local times: what does not exist is skipped, what exists twice counts once, when it first comes."""

    cron: Cron
    zone: zoneinfo.ZoneInfo
    is_recurring: bool = True

    def next_after(self, instant_ms: int) -> int | None:
        local = datetime.datetime.fromtimestamp(instant_ms / MILLISECONDS, self.zone).replace(tzinfo=None)
        return next((due for due in self._due_since(local - _LOOK_BACK) if due > instant_ms), None)

    def _due_since(self, since: datetime.datetime) -> Iterator[int]:
        for local in self.cron.times(since):
            due_ms = _instant_ms(local, self.zone)
            if due_ms is not None:
                yield due_ms


def parse(text: str, zone_name: str, start_ms: int) -> Expression:
    """Read an expression; a rate counts from its start. Raises `ExpressionError`."""
    found = _EXPRESSION.fullmatch(text)
    if found is None:
        raise ExpressionError(f"Invalid Schedule Expression {text}.")
    zone = _zone(zone_name)
    kind, inside = found.groups()
    if kind == "cron":
        return LocalCron(_cron(text, inside), zone)
    return _rate(text, inside, start_ms) if kind == "rate" else _at(text, inside, zone)


def _cron(text: str, inside: str) -> Cron:
    try:
        return Cron.parse(inside)
    except ValueError as error:
        raise ExpressionError(f"Invalid Schedule Expression {text}: {error}.") from error


def _rate(text: str, inside: str, start_ms: int) -> Rate:
    found = _RATE.fullmatch(inside)
    if found is None:
        raise ExpressionError(f"Invalid Schedule Expression {text}.")
    return Rate(int(found[1]) * _SECONDS[found[2]] * MILLISECONDS, start_ms)


def _at(text: str, inside: str, zone: zoneinfo.ZoneInfo) -> At:
    if not _AT.fullmatch(inside):
        raise ExpressionError(f"Invalid Schedule Expression {text}.")
    try:
        local = datetime.datetime.fromisoformat(inside)
    except ValueError as error:
        raise ExpressionError(f"Invalid Schedule Expression {text}: {error}.") from error
    due_ms = _instant_ms(local, zone)
    if due_ms is None:
        # What AWS makes of it is documented for cron only; better refused than guessed at.
        raise ExpressionError(f"{text} does not exist in {zone.key}.")
    return At(due_ms)


def _zone(name: str) -> zoneinfo.ZoneInfo:
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ExpressionError(f"Invalid Schedule Expression Timezone {name}.") from error


def _instant_ms(local: datetime.datetime, zone: zoneinfo.ZoneInfo) -> int | None:
    """The first instant at which clocks in the zone show this time; None when they never do."""
    instant = local.replace(tzinfo=zone).timestamp()
    shown = datetime.datetime.fromtimestamp(instant, zone).replace(tzinfo=None, fold=0)
    return milliseconds(instant) if shown == local else None
