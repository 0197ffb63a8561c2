"""Cron expressions of six fields: minutes, hours, day of month, month, day of week, year.

https://docs.aws.amazon.com/scheduler/latest/UserGuide/schedule-types.html#cron-based: wildcards
`, - * ? / L W #`; one of the two day fields is `?`; days of the week count from 1, which is Sunday.
"""

import calendar
import datetime
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

_MONTH_NAMES = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_MONTHS = {name: number for number, name in enumerate(_MONTH_NAMES, 1)}
_WEEKDAYS = {name: number for number, name in enumerate(("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"), 1)}
_NOBODY: Mapping[str, int] = {}
_FIELDS = 6
_DAYS_A_WEEK = 7
_LAST = re.compile(r"(\w+)L")
_NTH = re.compile(r"(\w+)#([1-5])")
_NEAREST = re.compile(r"(\d+|L)W")

Days = Callable[[int, int], set[int]]
"""Which days of a year's month are meant."""


@dataclass(frozen=True)
class Cron:
    """A read expression."""

    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: Days
    months: tuple[int, ...]
    years: tuple[int, ...]

    @classmethod
    def parse(cls, text: str) -> "Cron":
        """Raises ValueError, saying what is wrong."""
        fields = text.upper().split()
        if len(fields) != _FIELDS:
            raise ValueError(f"{len(fields)} fields instead of {_FIELDS}")
        minutes, hours, month_days, months, week_days, years = fields
        return cls(
            _numbers(minutes, 0, 59),
            _numbers(hours, 0, 23),
            _days(month_days, week_days),
            _numbers(months, 1, 12, _MONTHS),
            _numbers(years, 1970, 2199),
        )

    def times(self, since: datetime.datetime) -> Iterator[datetime.datetime]:
        """Local times from `since` on, in order."""
        for day in self._dates(since.date()):
            for hour in self.hours:
                for minute in self.minutes:
                    time = datetime.datetime(day.year, day.month, day.day, hour, minute)  # noqa: DTZ001 - local
                    if time >= since:
                        yield time

    def _dates(self, since: datetime.date) -> Iterator[datetime.date]:
        for year in (year for year in self.years if year >= since.year):
            for month in self.months:
                if (year, month) >= (since.year, since.month):
                    for day in sorted(self.days(year, month)):
                        yield datetime.date(year, month, day)


def _days(month_days: str, week_days: str) -> Days:
    if (month_days == "?") == (week_days == "?"):
        raise ValueError("one of the fields for days, and one only, must be ?")
    return _of_month(month_days) if week_days == "?" else _of_week(week_days)


def _of_month(field: str) -> Days:
    if field == "L":
        return lambda year, month: {_length(year, month)}
    if nearest := _NEAREST.fullmatch(field):
        return lambda year, month: _nearest_workday(year, month, nearest[1])
    numbers = set(_numbers(field, 1, 31))
    return lambda year, month: {day for day in numbers if day <= _length(year, month)}


def _of_week(field: str) -> Days:
    if nth := _NTH.fullmatch(field):
        weekday, count = _weekday(nth[1]), int(nth[2])
        return lambda year, month: set(_weekdays(year, month, weekday)[count - 1 : count])
    if last := _LAST.fullmatch(field):
        weekday = _weekday(last[1])
        return lambda year, month: set(_weekdays(year, month, weekday)[-1:])
    wanted = {_DAYS_A_WEEK} if field == "L" else set(_numbers(field, 1, _DAYS_A_WEEK, _WEEKDAYS))
    return lambda year, month: {day for one in wanted for day in _weekdays(year, month, one)}


def _weekdays(year: int, month: int, weekday: int) -> list[int]:
    """The days of a month that fall on a day of the week (1 to 7, from Sunday)."""
    first = datetime.date(year, month, 1).isoweekday() % _DAYS_A_WEEK + 1
    return list(range(1 + (weekday - first) % _DAYS_A_WEEK, _length(year, month) + 1, _DAYS_A_WEEK))


def _nearest_workday(year: int, month: int, wanted: str) -> set[int]:
    """The workday nearest to a day, within its month."""
    length = _length(year, month)
    day = length if wanted == "L" else int(wanted)
    if not 1 <= day <= length:
        return set()
    weekday = datetime.date(year, month, day).isoweekday()
    saturday, sunday = 6, 7
    if weekday == saturday:
        return {day - 1 if day > 1 else day + 2}
    if weekday == sunday:
        return {day + 1 if day < length else day - 2}
    return {day}


def _length(year: int, month: int) -> int:
    return calendar.monthrange(year, month)[1]


def _weekday(text: str) -> int:
    return _number(text, 1, _DAYS_A_WEEK, _WEEKDAYS)


def _numbers(field: str, least: int, most: int, names: Mapping[str, int] = _NOBODY) -> tuple[int, ...]:
    """The numbers that a field stands for: lists of `*`, single ones, ranges, each perhaps with a step."""
    return tuple(sorted({number for part in field.split(",") for number in _part(part, least, most, names)}))


def _part(part: str, least: int, most: int, names: Mapping[str, int]) -> range:
    span, slash, step = part.partition("/")
    if slash and not (step.isdigit() and int(step)):
        raise ValueError(f"{part} has no step")
    first, dash, last = span.partition("-")
    start = least if span == "*" else _number(first, least, most, names)
    end = _number(last, least, most, names) if dash else start
    if span == "*" or (slash and not dash):
        end = most
    if end < start:
        raise ValueError(f"{part} ends before it begins")
    return range(start, end + 1, int(step) if slash else 1)


def _number(text: str, least: int, most: int, names: Mapping[str, int]) -> int:
    number = names.get(text, int(text) if text.isdigit() else None)
    if number is None or not least <= number <= most:
        raise ValueError(f"{text or 'nothing'} is not within {least} and {most}")
    return number
