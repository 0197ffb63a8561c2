"""`GET /reminders` and `DELETE /reminders/{id}`."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NotRequired, Protocol

from typing_extensions import TypedDict

from ..postroom import strict_json
from ..postroom.errors import ConditionFailed
from ..postroom.http import Answer, Request
from ..postroom.operations import Operation, Parameter, Reply
from ..postroom.paging import LIMIT, limit_of
from ..postroom.problems import NOT_YOURS, FieldError, Problem, bad_request, not_found
from ..postroom.storage import Absent, AllOf, Compare, Item, Store, Update
from .reminders import Reminder, ReminderDocument, Timer, list_of, reminder_key

_ID = re.compile(r"[a-z2-7]{26}")
_CURSOR = re.compile(r"([0-9]{1,15})-([a-z2-7]{26})", re.ASCII)


class ReminderListDocument(TypedDict):
    """One page. `next` is the cursor of the next one, and is not there on the last."""

    reminders: list[ReminderDocument]
    next: NotRequired[str]


class CancelledReminderDocument(TypedDict):
    id: str
    state: Literal["cancelled", "cancelling"]


LIST = Operation(
    "GET /reminders",
    "List the caller's reminders, the next one first",
    {200: Reply("A page of them; done ones stay for 45 days.", ReminderListDocument, ("Cache-Control",))},
    query=[
        Parameter(
            "limit",
            LIMIT,
            "How many at most.",
        ),
        Parameter(
            "cursor", {"type": "string", "pattern": f"^{_CURSOR.pattern}$"}, "`next` of the page before."
        ),
    ],
)
CANCEL = Operation(
    "DELETE /reminders/{id}",
    "Cancel a reminder",
    {
        200: Reply("It will not be sent.", CancelledReminderDocument, ("Cache-Control",)),
        202: Reply("It is due, and may be on its way.", CancelledReminderDocument, ("Cache-Control",)),
    },
    {404: NOT_YOURS, 409: "It has been sent."},
    is_cancellation=True,
)

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

    @property
    def operations(self) -> Sequence[Operation]:
        return [LIST]

    def __call__(self, request: Request) -> Answer:
        """Raises `Problem` 400 for a limit out of range or a broken cursor."""
        items, last = self.listed.page(list_of(request.caller), limit_of(request), _cursor_of(request))
        document: ReminderListDocument = {"reminders": [Reminder.from_item(item).document for item in items]}
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

    @property
    def operations(self) -> Sequence[Operation]:
        return [CANCEL]

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
        document: CancelledReminderDocument = {
            "id": reminder_id,
            "state": "cancelled" if is_ahead else "cancelling",
        }
        status = 200 if is_ahead else 202
        return Answer.json(status, strict_json.dumps(document), {"Cache-Control": "no-store"})

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


def _cursor_of(request: Request) -> Place | None:
    text = request.query.get("cursor")
    if text is None:
        return None
    found = _CURSOR.fullmatch(text)
    if found is None:
        raise bad_request("bad_query", "cursor", "is not one that this list has given out")
    return int(found[1]), reminder_key(found[2]).pk
