"""GET /jobs?state=…: the caller's jobs that are retrying or dead, newest trouble first, in pages.

Which jobs are listed comes from an index, and an index is eventually consistent: a job may be missing for a
moment after it failed. What is said of each comes from a consistent read, and a job that is no longer in the
state asked for is left out. So a page may be shorter than its limit: `next` alone says whether more follow.
"""

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Any, NamedTuple, NotRequired, Protocol

from pydantic import Field
from typing_extensions import TypedDict

from . import strict_json
from .errors import Unreadable
from .events import utc_text
from .http import Answer, Request
from .job_rows import owned_open
from .job_views import JobDocument, view_of
from .jobs import EPOCH, JobType
from .operations import Operation, Parameter, Reply, Time
from .paging import LIMIT, limit_of
from .problems import bad_request
from .storage import Item, Key, Store

LISTED_STATES = ("dead", "retrying")
"""One `BatchGetItem` takes 100 keys."""
_MAX_CURSOR_CHARACTERS = 1_000
_LAST_MS = 10**15


class ListedJobDocument(JobDocument):
    """A job in trouble, and since when it is in this state."""

    since: Time


class JobListDocument(TypedDict):
    """One page. `next` is the cursor of the next one, and is not there on the last."""

    state: Annotated[str, Field(json_schema_extra={"enum": list(LISTED_STATES)})]
    jobs: list[ListedJobDocument]
    next: NotRequired[str]


LIST_JOBS = Operation(
    "GET /jobs",
    "List the caller's jobs that are in trouble, newest first",
    {200: Reply("A page of them. A job may be missing for a moment after it failed.", JobListDocument)},
    {400: "The cursor is not one that this list has given out."},
    query=[
        Parameter("state", {"type": "string", "enum": list(LISTED_STATES)}, "Which.", required=True),
        Parameter(
            "limit",
            LIMIT,
            "How many at most.",
        ),
        Parameter(
            "cursor",
            {"type": "string", "minLength": 1, "maxLength": _MAX_CURSOR_CHARACTERS},
            "`next` of the page before.",
        ),
    ],
)


class Place(NamedTuple):
    """Where a job stands in the index: since when it is in its state (epoch milliseconds), and its key."""

    since: int
    event_id: str
    subscriber: str


class Page(NamedTuple):
    places: Sequence[Place]
    last: Place | None


class JobIndex(Protocol):
    def page(self, owner_and_state: str, limit: int, after: Place | None) -> Page:
        """Places of one partition, newest first; `last` is where the next page begins, None at the end."""


@dataclass(frozen=True, slots=True)
class JobLists:
    """Lists for the caller only: the partition is made from the token's subject, never from the request."""

    index: JobIndex
    store: Store
    job_types: Sequence[JobType[Any]]

    def __call__(self, request: Request) -> Answer:
        """Raises `Problem` 400 for a state that is not listed, a limit out of range or a broken cursor."""
        state = _state_of(request)
        partition = owned_open(request.caller, state)
        page = self.index.page(partition, limit_of(request), _cursor_of(request))
        document: JobListDocument = {"state": state, "jobs": self._documents(page.places, partition)}
        if page.last:
            document["next"] = _encoded(page.last)
        return Answer.json(200, strict_json.dumps(document), {"Cache-Control": "private, no-store"})

    def _documents(self, places: Sequence[Place], partition: str) -> list[ListedJobDocument]:
        keys = {place: self._keys(place) for place in places}
        wanted = [key for each in keys.values() for key in each]
        found = self.store.read(wanted) if wanted else {}
        return [
            _listed(place, found[row])
            for place, (row, *markers) in keys.items()
            if found.get(row, {}).get("ownedOpen") == partition and not any(key in found for key in markers)
        ]

    def _keys(self, place: Place) -> list[Key]:
        """The job's row, and the item that settles it whatever the row says, if it has one."""
        markers = [each.marker_key(place.event_id) for each in self.job_types if _is_by(each, place)]
        return [Key("jobs", place.event_id, place.subscriber), *(key for key in markers if key)]


def _is_by(job_type: JobType[Any], place: Place) -> bool:
    return job_type.subscriber == place.subscriber


def _listed(place: Place, row: Item) -> ListedJobDocument:
    job = view_of(f"{place.event_id}:{place.subscriber}", row, None).document
    return {**job, "since": utc_text(EPOCH + timedelta(milliseconds=place.since))}


def _state_of(request: Request) -> str:
    state = request.query.get("state", "")
    if state not in LISTED_STATES:
        raise bad_request("bad_query", "state", f"must be one of {', '.join(LISTED_STATES)}")
    return state


def _cursor_of(request: Request) -> Place | None:
    text = request.query.get("cursor")
    if text is None:
        return None
    place = _decoded(text) if len(text) <= _MAX_CURSOR_CHARACTERS else None
    if place is None:
        raise bad_request("bad_query", "cursor", "is not one that this list has given out")
    return place


def _encoded(place: Place) -> str:
    return base64.urlsafe_b64encode(strict_json.dumps(list(place)).encode()).decode().rstrip("=")


def _decoded(text: str) -> Place | None:
    try:
        value = strict_json.loads(base64.b64decode(text + "=" * (-len(text) % 4), b"-_", validate=True))
    except (ValueError, binascii.Error, Unreadable):
        return None
    match value:
        case [int(since), str(event_id), str(subscriber)] if event_id and subscriber:
            is_time = not isinstance(since, bool) and 0 <= since <= _LAST_MS
            return Place(since, event_id, subscriber) if is_time else None
        case _:
            return None
