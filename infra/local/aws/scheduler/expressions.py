"""When a schedule runs: `at(...)`, `rate(...)` and `cron(...)`, evaluated in a time zone.

https://docs.aws.amazon.com/scheduler/latest/UserGuide/schedule-types.html. AWS is precise to the minute; here
a schedule runs at its very second. All instants are in seconds since the epoch.
"""

import datetime
import re
import zoneinfo
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

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

    def next_after(self, now: float) -> float | None:
        """The first instant after `now`; None when there is none."""


@dataclass(frozen=True)
class At:
    """Once."""

    instant: float
    is_recurring: bool = False

    def next_after(self, now: float) -> float | None:
        return self.instant if self.instant > now else None


@dataclass(frozen=True)
class Rate:
    """Every so many seconds, counted from the start; a day is 24 hours, whatever clocks do."""

    seconds: int
    start: float
    is_recurring: bool = True

    def next_after(self, now: float) -> float | None:
        if now < self.start:
            return self.start
        return self.start + self.seconds * ((now - self.start) // self.seconds + 1)


@dataclass(frozen=True)
class LocalCron:
    """At local times: what does not exist is skipped, what exists twice counts once, when it first comes."""

    cron: Cron
    zone: zoneinfo.ZoneInfo
    is_recurring: bool = True

    def next_after(self, now: float) -> float | None:
        local = datetime.datetime.fromtimestamp(now, self.zone).replace(tzinfo=None)
        instants = self._instants(local - _LOOK_BACK)
        return next((instant for instant in instants if instant > now), None)

    def _instants(self, since: datetime.datetime) -> Iterator[float]:
        for local in self.cron.times(since):
            instant = _instant(local, self.zone)
            if instant is not None:
                yield instant


def parse(text: str, zone_name: str, start: float) -> Expression:
    """Read an expression; a rate counts from `start`. Raises `ExpressionError`."""
    found = _EXPRESSION.fullmatch(text)
    if found is None:
        raise ExpressionError(f"Invalid Schedule Expression {text}.")
    zone = _zone(zone_name)
    kind, inside = found.groups()
    if kind == "cron":
        return LocalCron(_cron(text, inside), zone)
    return _rate(text, inside, start) if kind == "rate" else _at(text, inside, zone)


def _cron(text: str, inside: str) -> Cron:
    try:
        return Cron.parse(inside)
    except ValueError as error:
        raise ExpressionError(f"Invalid Schedule Expression {text}: {error}.") from error


def _rate(text: str, inside: str, start: float) -> Rate:
    found = _RATE.fullmatch(inside)
    if found is None:
        raise ExpressionError(f"Invalid Schedule Expression {text}.")
    return Rate(int(found[1]) * _SECONDS[found[2]], start)


def _at(text: str, inside: str, zone: zoneinfo.ZoneInfo) -> At:
    if not _AT.fullmatch(inside):
        raise ExpressionError(f"Invalid Schedule Expression {text}.")
    try:
        local = datetime.datetime.fromisoformat(inside)
    except ValueError as error:
        raise ExpressionError(f"Invalid Schedule Expression {text}: {error}.") from error
    instant = _instant(local, zone)
    if instant is None:
        # What AWS makes of it is documented for cron only; better refused than guessed at.
        raise ExpressionError(f"{text} does not exist in {zone.key}.")
    return At(instant)


def _zone(name: str) -> zoneinfo.ZoneInfo:
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ExpressionError(f"Invalid Schedule Expression Timezone {name}.") from error


def _instant(local: datetime.datetime, zone: zoneinfo.ZoneInfo) -> float | None:
    """The first instant at which clocks in the zone show this time; None when they never do."""
    instant = local.replace(tzinfo=zone).timestamp()
    shown = datetime.datetime.fromtimestamp(instant, zone).replace(tzinfo=None, fold=0)
    return instant if shown == local else None
