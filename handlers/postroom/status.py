"""GET /jobs/{id}: an event with all its jobs, or one job, from one strongly consistent read.

Sources: RFC 9110 §8.8.3 (ETag), §13.1.2 (If-None-Match), §10.2.3 (Retry-After).
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from . import strict_json
from .http import Answer, Request
from .job_facts import EventDocument, facts_asked_for
from .job_views import CANCELLING, QUEUED, JobDocument
from .jobs import JobType
from .operations import Operation, Reply
from .problems import NOT_YOURS
from .storage import Store

SHOW_JOBS = Operation(
    "GET /jobs/{id}",
    "Tell what has become of an event and all its jobs, or of one job",
    {
        200: Reply(
            "The event, or the one job. `Retry-After` while it is open.",
            EventDocument | JobDocument,
            headers=("ETag", "Retry-After", "Cache-Control"),
        ),
        304: Reply("As it was when its `ETag` was this.", headers=("ETag", "Retry-After", "Cache-Control")),
    },
    {404: NOT_YOURS},
    headers=("If-None-Match",),
)

RETRY_AFTER_SECONDS: Mapping[str, int] = {QUEUED: 1, "running": 1, "retrying": 5, CANCELLING: 5}


@dataclass(frozen=True, slots=True)
class JobStatus:
    """Answers for the caller's own events and jobs; for anything else, the one 404."""

    store: Store
    job_types: Sequence[JobType[Any]]

    def __call__(self, request: Request) -> Answer:
        """Raises `Problem` 404 for an id that is unknown, of no known shape, or another caller's."""
        return _answer(request, facts_asked_for(request, self.store, self.job_types).document)


def when_to_look_again(document: EventDocument | JobDocument) -> Mapping[str, str]:
    """`Retry-After` while it is open; nothing once it has ended."""
    seconds = RETRY_AFTER_SECONDS.get(document["state"])
    return {"Retry-After": str(seconds)} if seconds else {}


def _answer(request: Request, document: EventDocument | JobDocument) -> Answer:
    body = strict_json.dumps(document)
    etag = f'"{hashlib.sha256(body.encode()).hexdigest()[:32]}"'
    headers = {"ETag": etag, "Cache-Control": "private, no-cache", **when_to_look_again(document)}
    if _matches(request.header("if-none-match"), etag):
        return Answer(304, headers)
    return Answer.json(200, body, headers)


def _matches(if_none_match: str, etag: str) -> bool:
    named = {each.strip().removeprefix("W/") for each in if_none_match.split(",")}
    return "*" in named or etag in named
