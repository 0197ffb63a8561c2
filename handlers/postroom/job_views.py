"""A job as its owner sees it: its state, what came of it, and why it is late, in words that help."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .storage import Item

QUEUED = "queued"
OPEN_STATES = frozenset({QUEUED, "running", "retrying"})

_AUTHORS_WORDS = frozenset({"Permanent", "NotFound"})
"""Failures whose message a subscriber's author wrote for people. Any other message may tell of the inside."""


@dataclass(frozen=True, slots=True)
class JobView:
    id: str
    state: str
    attempts: int
    result: Mapping[str, Any] | None = None
    error: str | None = None

    @property
    def is_open(self) -> bool:
        return self.state in OPEN_STATES

    @property
    def document(self) -> Mapping[str, Any]:
        document: dict[str, Any] = {"id": self.id, "state": self.state, "attempts": self.attempts}
        if self.result is not None:
            document["result"] = self.result
        if self.error is not None:
            document["error"] = self.error
        return document


def view_of(job_id: str, row: Item | None, marker: Item | None) -> JobView:
    """From the job's row and its marker item. A marker settles it, whatever the row says."""
    row = row or {}
    if marker is not None:
        result = marker.get("job", {}).get("result", {})
        return JobView(job_id, "completed", _attempts(row, at_least=1), result)
    match row.get("state", QUEUED):
        case "completed":
            return JobView(job_id, "completed", _attempts(row, at_least=1), row.get("result", {}))
        case "retrying":
            return JobView(job_id, "retrying", _attempts(row), error=_why_retrying(row))
        case "dead":
            return JobView(job_id, "dead", _attempts(row, at_least=1), error=_why_dead(row))
        case state:
            return JobView(job_id, state, _attempts(row))


def overall(states: Sequence[str]) -> str:
    """The state of an event from the states of its jobs."""
    if OPEN_STATES.isdisjoint(states):
        return _ended(states)
    if "retrying" in states:
        return "retrying"
    return QUEUED if set(states) == {QUEUED} else "running"


def _ended(states: Sequence[str]) -> str:
    if "dead" in states:
        return "dead"
    return states[0] if len(set(states)) == 1 else "completed"


def _attempts(row: Item, *, at_least: int = 0) -> int:
    return max(at_least, int(row.get("attempts", 0)))


def _why_retrying(row: Item) -> str:
    attempts = _attempts(row)
    if attempts and row.get("failures"):
        return f"Attempt {attempts} failed for a reason that may pass. It will be tried again."
    return "An earlier run did not come to its end. It is being tried again."


def _why_dead(row: Item) -> str:
    failures = row.get("failures") or [{}]
    if failures[-1].get("error") in _AUTHORS_WORDS:
        return f"It cannot succeed as it is: {failures[-1]['message']}."
    attempts = _attempts(row, at_least=1)
    times = "once" if attempts == 1 else f"{attempts} times"
    return f"It failed {times} and was set aside. It can be tried again when the cause is mended."
