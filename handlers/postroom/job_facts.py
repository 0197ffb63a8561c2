"""What the tables hold about an event and its jobs, for their owner, from one consistent read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, NotRequired

from typing_extensions import TypedDict

from .events import Envelope, EventType, read_envelope, utc_text
from .fanout import Progress, ProgressDocument
from .http import Request
from .job_views import JobDocument, JobView, State, overall, view_of
from .jobs import JobType
from .operations import Time
from .problems import not_found
from .storage import Item, Key, Store

MAX_ID_CHARACTERS = 320


class EventDocument(TypedDict):
    """An event and every job of it. `progress` is there when it is one that fans out."""

    id: str
    type: str
    time: NotRequired[Time]
    state: State
    progress: NotRequired[ProgressDocument]
    jobs: list[JobDocument]


class SeenJob(NamedTuple):
    job_type: JobType[Any]
    event_id: str
    view: JobView


@dataclass(frozen=True, slots=True)
class Facts:
    """One event and some of its jobs. `of_one_job` says that a single job was asked for, by its id.

    Of a fan-out, the jobs are those of its first step and of the one that is next or under way.
    """

    event_id: str
    job_types: Sequence[JobType[Any]]
    found: Mapping[Key, Item]
    of_one_job: bool

    @property
    def event_type(self) -> EventType[Any]:
        found = self.job_types[0].on.type_of(self.event_id)
        assert found is not None
        return found

    @property
    def event_key(self) -> Key:
        return self.job_types[0].on.row_key(self.event_id)

    @property
    def event_item(self) -> Item | None:
        return self.found.get(self.event_key)

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
    def progress(self) -> Progress | None:
        """How far the event's fan-out has come, if it is one's first step."""
        return Progress.of(self.event_item) if self.event_item and not self.of_one_job else None

    @property
    def jobs(self) -> list[SeenJob]:
        own = [self._seen(each, self.event_id) for each in self.job_types if self._concerns(each)]
        later = self.progress.step_after(self.event_id) if self.progress else None
        return [*own, *self._step_jobs(later)] if later else own

    @property
    def document(self) -> EventDocument | JobDocument:
        return self.jobs[0].view.document if self.of_one_job else self._of_the_event

    @property
    def _of_the_event(self) -> EventDocument:
        jobs = [job.view.document for job in self.jobs]
        document: EventDocument = {
            "id": self.event_id,
            "type": self.event_type.name,
            "state": self._state,
            "jobs": jobs,
        }
        if self.envelope:
            document["time"] = utc_text(self.envelope.time)
        if self.progress:
            document["progress"] = self.progress.document
        return document

    @property
    def _state(self) -> str:
        progress = self.progress
        if progress is None:
            return overall([job.view.state for job in self.jobs])
        return progress.state([job.view.state for job in self.jobs if job.event_id == progress.step])

    def _step_jobs(self, step: str) -> list[SeenJob]:
        return [self._seen(each, step) for each in self.job_types if each.on.type_of(step)]

    def _seen(self, job_type: JobType[Any], event_id: str) -> SeenJob:
        return SeenJob(job_type, event_id, self._view(job_type, event_id))

    def _concerns(self, job_type: JobType[Any]) -> bool:
        """Whether the subscriber has this event to work on: not when the event is older than it."""
        if any(key in self.found for key in _status_keys(self.event_id, job_type)):
            return True
        return self.envelope is not None and self.envelope.time >= job_type.since

    def _view(self, job_type: JobType[Any], event_id: str) -> JobView:
        marker = job_type.marker_key(event_id)
        return view_of(
            job_type.job_id(event_id),
            self.found.get(job_type.row_key(event_id)),
            self.found.get(marker) if marker else None,
        )


def facts_asked_for(request: Request, store: Store, job_types: Sequence[JobType[Any]]) -> Facts:
    """What a request's path names: an event or one of its jobs.

    Raises `Problem` 404 for an id that is unknown, of no known shape, or another caller's.
    """
    asked = request.path_parameters.get("id", "")
    event_id, of_one_job, subscriber = asked.partition(":")
    known = [each for each in job_types if each.on.type_of(event_id)]
    if of_one_job:
        known = [each for each in known if each.subscriber == subscriber]
    if not known or len(asked) > MAX_ID_CHARACTERS:
        raise not_found()
    facts = Facts(event_id, known, store.read(_keys(event_id, known)), bool(of_one_job))
    if facts.owner != request.caller or not facts.jobs:
        raise not_found()
    return _with_later_step(facts, store)


def _with_later_step(facts: Facts, store: Store) -> Facts:
    """A fan-out's present step has a row of its own, whose name only the first read tells."""
    step = facts.progress.step_after(facts.event_id) if facts.progress else None
    if step is None:
        return facts
    keys = [key for each in facts.job_types if each.on.type_of(step) for key in _status_keys(step, each)]
    return replace(facts, found={**facts.found, **store.read(keys)})


def _keys(event_id: str, job_types: Sequence[JobType[Any]]) -> list[Key]:
    event_row = job_types[0].on.row_key(event_id)
    return [event_row, *(key for each in job_types for key in _status_keys(event_id, each))]


def _status_keys(event_id: str, job_type: JobType[Any]) -> list[Key]:
    marker = job_type.marker_key(event_id)
    return [job_type.row_key(event_id), *([marker] if marker else [])]
