"""A job as its owner sees it: its state, what came of it, and why it is late, in words that help."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Any, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from .events import utc_text
from .jobs import EPOCH
from .operations import Time
from .storage import Item

QUEUED = "queued"
CANCELLED = "cancelled"
CANCELLING = "cancelling"
OPEN_STATES = frozenset({QUEUED, "running", "retrying", CANCELLING})

ENDED_STATES = ("completed", "dead", "expired", CANCELLED)
State = Annotated[str, Field(json_schema_extra={"enum": [*sorted(OPEN_STATES), *ENDED_STATES]})]


class FailureDocument(TypedDict):
    """A failed run: when, which, and why."""

    at: Time
    attempt: int
    reason: str


class JobDocument(TypedDict):
    """One subscriber's work on one event. `result` is there once it is completed; `error` says why it is
    late, dead or taken back, `failures` when and why each run failed."""

    id: str
    state: State
    attempts: Annotated[int, Field(ge=0)]
    result: NotRequired[Mapping[str, Any]]
    error: NotRequired[str]
    failures: NotRequired[Sequence[FailureDocument]]


_AUTHORS_WORDS = frozenset({"Permanent", "NotFound"})
"""Failures whose message a subscriber's author wrote for people. Any other message may tell of the inside."""
_FOR_THE_OWNER = _AUTHORS_WORDS | {"Explained"}


@dataclass(frozen=True, slots=True)
class JobView:
    id: str
    state: str
    attempts: int
    result: Mapping[str, Any] | None = None
    error: str | None = None
    failures: Sequence[FailureDocument] = ()

    @property
    def is_open(self) -> bool:
        return self.state in OPEN_STATES

    @property
    def document(self) -> JobDocument:
        document: JobDocument = {"id": self.id, "state": self.state, "attempts": self.attempts}
        if self.result is not None:
            document["result"] = self.result
        if self.error is not None:
            document["error"] = self.error
        if self.failures:
            document["failures"] = list(self.failures)
        return document


def view_of(job_id: str, row: Item | None, marker: Item | None) -> JobView:
    """From the job's row and its marker item. A marker settles it, whatever the row says."""
    row = row or {}
    if marker is not None:
        result = marker.get("job", {}).get("result", {})
        return JobView(job_id, "completed", _attempts(row, at_least=1), result)
    match _state(row):
        case "completed":
            return JobView(job_id, "completed", _attempts(row, at_least=1), row.get("result", {}))
        case "retrying":
            why = _why_retrying(row)
            return JobView(job_id, "retrying", _attempts(row), error=why, failures=_failures(row))
        case "dead":
            attempts = _attempts(row, at_least=1)
            return JobView(job_id, "dead", attempts, error=_why_dead(row), failures=_failures(row))
        case "cancelled" if "why" in row:
            why = f"It was taken back: {row['why']}."
            return JobView(job_id, CANCELLED, _attempts(row), error=why, failures=_failures(row))
        case state:
            return JobView(job_id, state, _attempts(row))


def overall(states: Sequence[str]) -> str:
    """The state of an event from the states of its jobs."""
    if OPEN_STATES.isdisjoint(states):
        return _ended(states)
    still_open = OPEN_STATES.intersection(states)
    if "retrying" in still_open:
        return "retrying"
    if still_open == {CANCELLING}:
        return CANCELLING
    return QUEUED if set(states) == {QUEUED} else "running"


def _ended(states: Sequence[str]) -> str:
    if "dead" in states:
        return "dead"
    return states[0] if len(set(states)) == 1 else "completed"


def _state(row: Item) -> str:
    state = str(row.get("state", QUEUED))
    if state == "parked":
        # for its owner it waits, as it did in the queue
        state = QUEUED
    return CANCELLING if "cancelling" in row and state in OPEN_STATES else state


def _attempts(row: Item, *, at_least: int = 0) -> int:
    return max(at_least, int(row.get("attempts", 0)))


def _why_retrying(row: Item) -> str:
    attempts = _attempts(row)
    if attempts and row.get("failures"):
        return f"Attempt {attempts} failed for a reason that may pass. It will be tried again."
    return "An earlier run did not come to its end. It is being tried again."


def _failures(row: Item) -> list[FailureDocument]:
    """The ledger, as far as its owner may read it: when, which run, and why in words without the inside."""
    return [
        {
            "at": utc_text(EPOCH + timedelta(milliseconds=int(entry["at"]))),
            "attempt": int(entry["attempt"]),
            "reason": _reason(entry),
        }
        for entry in row.get("failures") or ()
    ]


def _reason(entry: Item) -> str:
    match entry.get("error"):
        case error if error in _FOR_THE_OWNER:
            return f"{_sentence(entry['message'])}."
        case "ProviderError":
            return f"The provider answered with status {entry.get('answer', 'unknown')}."
        case "Unreadable":
            return "The event could not be read."
        case "NewerVersion":
            return "The event is of a newer version than can be read here yet."
        case "NeverReported":
            return "It was begun again and again, and no run came to its end."
        case "CutOff":
            return "A call was cut off, so nobody here knows whether the provider has acted."
        case "Transient":
            return "Something that it needs was busy or out of reach."
        case _:
            return "It failed for a reason that only the operator can see."


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _why_dead(row: Item) -> str:
    failures = row.get("failures") or [{}]
    if failures[-1].get("error") in _AUTHORS_WORDS:
        return f"It cannot succeed as it is: {failures[-1]['message']}."
    if failures[-1].get("error") == "CutOff":
        return "A call was cut off, so the provider may or may not have acted. A person has to look."
    attempts = _attempts(row, at_least=1)
    times = "once" if attempts == 1 else f"{attempts} times"
    return f"It failed {times} and was set aside. It can be tried again when the cause is mended."
