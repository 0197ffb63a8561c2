"""GET /jobs/{id}: an event with all its jobs, or one job, from one strongly consistent read.

Sources: RFC 9110 §8.8.3 (ETag), §13.1.2 (If-None-Match), §10.2.3 (Retry-After).
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from . import strict_json
from .events import Envelope, EventType, read_envelope, utc_text
from .http import Answer, Request
from .job_views import QUEUED, JobView, overall, view_of
from .jobs import JobType
from .problems import not_found
from .storage import Item, Key, Store

RETRY_AFTER_SECONDS: Mapping[str, int] = {QUEUED: 1, "running": 1, "retrying": 5}
MAX_ID_CHARACTERS = 320


@dataclass(frozen=True, slots=True)
class JobStatus:
    """Answers for the caller's own events and jobs; for anything else, the one 404."""

    store: Store
    job_types: Sequence[JobType[Any]]

    def __call__(self, request: Request) -> Answer:
        """Raises `Problem` 404 for an id that is unknown, of no known shape, or another caller's."""
        asked = request.path_parameters.get("id", "")
        event_id, of_one_job, subscriber = asked.partition(":")
        known = [each for each in self.job_types if _is_of_type(event_id, each.on)]
        if of_one_job:
            known = [each for each in known if each.subscriber == subscriber]
        if not known or len(asked) > MAX_ID_CHARACTERS:
            raise not_found()
        facts = _Facts(event_id, known, self.store.read(_keys(event_id, known)))
        if facts.owner != request.caller or not facts.views:
            raise not_found()
        return _answer(request, _one(facts.views[0]) if of_one_job else facts.document)


@dataclass(frozen=True, slots=True)
class _Facts:
    """What the tables hold about one event and some of its jobs."""

    event_id: str
    job_types: Sequence[JobType[Any]]
    found: Mapping[Key, Item]

    @property
    def event_item(self) -> Item | None:
        return self.found.get(self.job_types[0].on.row_key(self.event_id))

    @property
    def owner(self) -> str | None:
        """The event's owner; an event row of its own expires before its jobs' rows, which know it too."""
        rows = [self.found.get(each.row_key(self.event_id)) for each in self.job_types]
        owners = (item["owner"] for item in (self.event_item, *rows) if item and "owner" in item)
        return next(owners, None)

    @property
    def envelope(self) -> Envelope | None:
        return read_envelope(self.event_item["event"]) if self.event_item else None

    @property
    def views(self) -> list[JobView]:
        return [self._view(each) for each in self.job_types if self._concerns(each)]

    def _concerns(self, job_type: JobType[Any]) -> bool:
        """Whether the subscriber has this event to work on: not when the event is older than it."""
        if any(key in self.found for key in _status_keys(self.event_id, job_type)):
            return True
        return self.envelope is not None and self.envelope.time >= job_type.since

    def _view(self, job_type: JobType[Any]) -> JobView:
        marker = job_type.marker_key(self.event_id)
        return view_of(
            job_type.job_id(self.event_id),
            self.found.get(job_type.row_key(self.event_id)),
            self.found.get(marker) if marker else None,
        )

    @property
    def document(self) -> Mapping[str, Any]:
        views = self.views
        time = {"time": utc_text(self.envelope.time)} if self.envelope else {}
        return {
            "id": self.event_id,
            "type": self.job_types[0].on.name,
            **time,
            "state": overall([view.state for view in views]),
            "jobs": [view.document for view in views],
        }


def _one(view: JobView) -> Mapping[str, Any]:
    return view.document


def _is_of_type(event_id: str, event_type: EventType[Any]) -> bool:
    aggregate = event_id.removeprefix(f"{event_type.kind}-").removesuffix(f"-{event_type.verb}")
    return bool(aggregate) and event_id == f"{event_type.kind}-{aggregate}-{event_type.verb}"


def _keys(event_id: str, job_types: Sequence[JobType[Any]]) -> list[Key]:
    event_row = job_types[0].on.row_key(event_id)
    return [event_row, *(key for each in job_types for key in _status_keys(event_id, each))]


def _status_keys(event_id: str, job_type: JobType[Any]) -> list[Key]:
    marker = job_type.marker_key(event_id)
    return [job_type.row_key(event_id), *([marker] if marker else [])]


def _answer(request: Request, document: Mapping[str, Any]) -> Answer:
    body = strict_json.dumps(document)
    etag = f'"{hashlib.sha256(body.encode()).hexdigest()[:32]}"'
    headers = {"ETag": etag, "Cache-Control": "private, no-cache"}
    if document["state"] in RETRY_AFTER_SECONDS:
        headers["Retry-After"] = str(RETRY_AFTER_SECONDS[document["state"]])
    if _matches(request.header("if-none-match"), etag):
        return Answer(304, headers)
    return Answer.json(200, body, headers)


def _matches(if_none_match: str, etag: str) -> bool:
    named = {each.strip().removeprefix("W/") for each in if_none_match.split(",")}
    return "*" in named or etag in named
