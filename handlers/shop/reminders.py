"""Reminders: a mail at a time that the customer names, minutes or months ahead."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Protocol
from zoneinfo import ZoneInfo

from pydantic import Field
from typing_extensions import TypedDict

from ..postroom.acceptance import Birth, Intent, Work
from ..postroom.bodies import Body, invalid
from ..postroom.errors import Permanent
from ..postroom.events import Event, EventType, utc_text
from ..postroom.jobs import EPOCH, RETENTION_SECONDS
from ..postroom.operations import Time
from ..postroom.problems import FieldError, Problem
from ..postroom.storage import Item, Key
from ..postroom.texts import Filled
from .facts import Fact, Id
from .ports import Mail
from .receipts import is_address

KIND = "reminder"
LONGEST_AHEAD_SECONDS = 366 * 24 * 3600
_RFC_3339 = re.compile(
    r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d{1,6})?(?P<offset>[Zz]|[+-]\d\d:\d\d)?", re.ASCII
)
"""RFC 3339 §5.6; without an offset it is the time of a wall clock."""


class ReminderSet(Fact):
    """`due_at` is in epoch milliseconds."""

    reminder_id: Id
    due_at: Annotated[int, Field(ge=0)]


class ReminderDue(Fact):
    reminder_id: Id


REMINDER_SET = EventType("reminder.set", 1, ReminderSet)
REMINDER_DUE = EventType("reminder.due", 1, ReminderDue, direct=True)


class ReminderRequest(Body):
    """When: `inSeconds` from now, or `at`, an RFC 3339 time; one without an offset is of `timeZone`."""

    email: Annotated[Filled, Field(max_length=254)]
    text: Annotated[Filled, Field(max_length=500)]
    in_seconds: Annotated[int, Field(ge=1, le=LONGEST_AHEAD_SECONDS)] | None = None
    at: Annotated[str, Field(max_length=40)] | None = None
    time_zone: Annotated[str, Field(max_length=64)] | None = None


class ReminderDocument(TypedDict):
    """`due` is when it is sent."""

    id: str
    state: Annotated[str, Field(json_schema_extra={"enum": ["set", "sent", "cancelled"]})]
    due: Time
    text: str


class Timer(Protocol):
    """What hands an event to the reminders' queue when its time has come."""

    def set(self, name: str, due: datetime, message: str) -> str:
        """Once per name, however often it is asked for, or almost: repeats carry the same message.

        Returns what will ring. Raises `Transient` when AWS cannot be asked.
        """

    def clear(self, name: str) -> None:
        """Let nothing ring; never raises, because whoever is rung for looks at the reminder itself."""


@dataclass(frozen=True, slots=True)
class Reminder:
    id: str
    owner: str
    email: str
    text: str
    due: datetime
    is_cancelled: bool
    is_sent: bool

    @classmethod
    def from_item(cls, item: Item) -> "Reminder":
        return cls(
            id=item["pk"].removeprefix(f"{KIND}-"),
            owner=item["owner"],
            email=item.get("email", ""),
            text=item.get("text", ""),
            due=EPOCH + timedelta(milliseconds=int(item["dueAt"])),
            is_cancelled="cancelledAt" in item,
            is_sent="sent" in item,
        )

    @property
    def state(self) -> str:
        if self.is_sent:
            return "sent"
        return "cancelled" if self.is_cancelled else "set"

    @property
    def document(self) -> ReminderDocument:
        return {"id": self.id, "state": self.state, "due": utc_text(self.due), "text": self.text}

    @property
    def mail(self) -> Mail:
        """Raises `Permanent` when the address is none."""
        if not is_address(self.email):
            raise Permanent("the reminder's e-mail is not an e-mail address")
        return Mail(self.email, "Your reminder", f"{self.text}\n", self.due)


def aggregate_of(reminder_id: str) -> str:
    return f"{KIND}-{reminder_id}"


def reminder_key(reminder_id: str) -> Key:
    return Key("shop", aggregate_of(reminder_id), "entity")


def list_of(owner: str) -> str:
    """The partition of the index that lists a caller's reminders."""
    return f"reminders-{owner}"


def reminders() -> Work[ReminderRequest, None]:
    """The work of `POST /reminders`."""
    return Work(
        route="POST /reminders",
        model=ReminderRequest,
        key=reminder_key,
        settle=lambda _intent: None,
        undo=lambda _settled, _winner: None,
        build=_born,
        summary="Set a reminder for a time ahead",
        refusals={422: "The time is said twice or not at all, past, too far ahead, or one that clocks skip."},
    )


def due_event(set_event: Event[ReminderSet]) -> Event[ReminderDue]:
    """The same bytes whenever it is made: a reminder that rings twice is one job."""
    return REMINDER_DUE.new(
        set_event.aggregate,
        ReminderDue(reminder_id=set_event.data.reminder_id),
        sequence=set_event.sequence + 1,
        time=EPOCH + timedelta(milliseconds=set_event.data.due_at),
        owner=set_event.owner,
        trace=set_event.trace,
    )


def due_of(request: ReminderRequest, now: datetime) -> datetime:
    """When to remind, in whole seconds. Raises `Problem` 422 that names the field which does not say it."""
    due = _asked_for(request, now)
    if due.microsecond:
        due = due.replace(microsecond=0) + timedelta(seconds=1)
    if not now < due <= now + timedelta(seconds=LONGEST_AHEAD_SECONDS):
        raise _wrong("at", "must be ahead, by a year at most")
    return due


def _asked_for(request: ReminderRequest, now: datetime) -> datetime:
    if (request.in_seconds is None) == (request.at is None):
        raise _wrong("inSeconds", "either this or at must be given")
    if request.in_seconds is None:
        return _moment(request.at or "", request.time_zone)
    if request.time_zone is not None:
        raise _wrong("timeZone", "goes with at")
    return now + timedelta(seconds=request.in_seconds)


def _moment(at: str, zone_name: str | None) -> datetime:
    found = _RFC_3339.fullmatch(at)
    if found is None:
        raise _wrong("at", "must be an RFC 3339 time, such as 2026-12-01T09:00:00+01:00")
    if bool(found["offset"]) == (zone_name is not None):
        raise _wrong("timeZone", "is needed for a time without an offset, and only there")
    try:
        moment = datetime.fromisoformat(at.upper())
        return _on_the_wall(moment, zone_name) if zone_name else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        raise _wrong("at", "is no such time") from None


def _on_the_wall(local: datetime, zone_name: str) -> datetime:
    """Of a time that the clock shows twice, the first."""
    try:
        zone = ZoneInfo(zone_name)
    except (ValueError, KeyError, OSError):
        raise _wrong("timeZone", "is not a name of the IANA time zone database") from None
    moment = local.replace(tzinfo=zone).astimezone(UTC)
    if moment.astimezone(zone).replace(tzinfo=None) != local:
        raise _wrong("at", "does not exist there: the clocks skip it")
    return moment


def _wrong(field: str, reason: str) -> Problem:
    return invalid([FieldError(field, reason)])


def _born(intent: Intent[ReminderRequest], _settled: None, now: datetime) -> Birth:
    due = due_of(intent.payload, now)
    due_ms = int(due.timestamp()) * 1000
    event = REMINDER_SET.new(
        aggregate_of(intent.id),
        ReminderSet(reminder_id=intent.id, due_at=due_ms),
        sequence=1,
        time=now,
        owner=intent.caller,
        trace=intent.trace,
    )
    attributes: dict[str, Any] = {
        "email": intent.payload.email,
        "text": intent.payload.text,
        "dueAt": due_ms,
        "listed": list_of(intent.caller),
        "listedAt": due_ms,
        "expires": due_ms // 1000 + RETENTION_SECONDS,
    }
    return Birth(event, attributes)
