"""`GET /reminders` and `DELETE /reminders/{id}`."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ..postroom import strict_json
from ..postroom.errors import ConditionFailed
from ..postroom.http import Answer, Request
from ..postroom.problems import FieldError, Problem, bad_request, not_found
from ..postroom.storage import Absent, AllOf, Compare, Item, Store, Update
from .reminders import Reminder, Timer, list_of, reminder_key

DEFAULT_LIMIT = 20
MAX_LIMIT = 100
_ID = re.compile(r"[a-z2-7]{26}")
_CURSOR = re.compile(r"([0-9]{1,15})-([a-z2-7]{26})", re.ASCII)


Place = tuple[int, str]
"""Where an item stands in its list: its time (epoch milliseconds) and its partition key."""


class Listed(Protocol):
    def page(self, name: str, limit: int, after: Place | None) -> tuple[Sequence[Item], Place | None]:
        """Items of one list by their time, and where the next page begins, None at the end.

        A list may be a moment behind its items.
        """


@dataclass(frozen=True, slots=True)
class ReminderList:
    """The caller's reminders, the next one first; done ones stay for 45 days."""

    listed: Listed

    def __call__(self, request: Request) -> Answer:
        """Raises `Problem` 400 for a limit out of range or a broken cursor."""
        items, last = self.listed.page(list_of(request.caller), _limit_of(request), _cursor_of(request))
        document: dict[str, Any] = {"reminders": [Reminder.from_item(item).document for item in items]}
        if last:
            due_ms, pk = last
            document["next"] = f"{due_ms}-{pk.removeprefix('reminder-')}"
        return Answer.json(200, strict_json.dumps(document), {"Cache-Control": "private, no-store"})


@dataclass(frozen=True, slots=True)
class ReminderCancel:
    """Cancelling marks the reminder; whatever rings later looks at the mark.

    `clock` gives epoch seconds.
    """

    store: Store
    timer: Timer
    clock: Callable[[], float]

    def __call__(self, request: Request) -> Answer:
        """200 when it will not be sent, 202 when it is due and may be on its way.

        Raises `Problem`: 404 for none of the caller's, 409 when it has been sent.
        """
        reminder_id = request.path_parameters.get("id", "")
        if not _ID.fullmatch(reminder_id):
            raise not_found()
        reminder = Reminder.from_item(self._marked(reminder_id, request.caller))
        self.timer.clear(reminder_key(reminder_id).pk)
        is_ahead = self.clock() < reminder.due.timestamp()
        state = "cancelled" if is_ahead else "cancelling"
        body = strict_json.dumps({"id": reminder_id, "state": state})
        return Answer.json(200 if is_ahead else 202, body, {"Cache-Control": "no-store"})

    def _marked(self, reminder_id: str, caller: str) -> Item:
        open_and_mine = AllOf((Compare("owner", "=", caller), Absent("sent"), Absent("cancelledAt")))
        now_ms = int(self.clock() * 1000)
        mark = Update(reminder_key(reminder_id), set={"cancelledAt": now_ms}, condition=open_and_mine)
        try:
            return self.store.change(mark)
        except ConditionFailed as refused:
            return _cancelled_before(refused.old, caller)


def _cancelled_before(item: Item | None, caller: str) -> Item:
    if item is None or item["owner"] != caller:
        raise not_found()
    if "sent" in item:
        raise Problem(
            409, "already_sent", "The reminder has been sent.", errors=[FieldError("id", "is sent")]
        )
    return item


def _limit_of(request: Request) -> int:
    text = request.query.get("limit", str(DEFAULT_LIMIT))
    limit = int(text) if re.fullmatch(r"[0-9]{1,3}", text) else 0
    if not 1 <= limit <= MAX_LIMIT:
        raise bad_request("bad_query", "limit", f"must be a number from 1 to {MAX_LIMIT}")
    return limit


def _cursor_of(request: Request) -> Place | None:
    text = request.query.get("cursor")
    if text is None:
        return None
    found = _CURSOR.fullmatch(text)
    if found is None:
        raise bad_request("bad_query", "cursor", "is not one that this list has given out")
    return int(found[1]), reminder_key(found[2]).pk
