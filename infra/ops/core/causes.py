"""Why messages are dead letters: each with its job's row, and all of them grouped by cause."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from handlers.postroom.jobs import JobType
from handlers.postroom.storage import Item, Key
from infra.ops.core.letters import Letter
from infra.ops.core.target import Target

_OPEN_STATES = ("retrying", "running", "queued", "parked")


@dataclass(frozen=True, order=True)
class Cause:
    """What letters have in common: the kind of error and the place where it came up."""

    error: str
    where: str = ""


@dataclass(frozen=True)
class DeadJob:
    """A letter and what the tables say of its job. `marker` is an effect that records its own success."""

    letter: Letter
    job_type: JobType[Any]
    row: Item
    marker: Item | None = None

    @property
    def id(self) -> str | None:
        return None if self.letter.event is None else self.job_type.job_id(self.letter.event.id)

    @property
    def state(self) -> str:
        if self.letter.event is None:
            return "unreadable"
        return "completed" if self.marker is not None else str(self.row.get("state", "queued"))

    @property
    def ledger(self) -> Sequence[Item]:
        failures: Sequence[Item] = self.row.get("failures", ())
        return failures

    @property
    def cause(self) -> Cause:
        if self.state != "dead" and self.state not in _OPEN_STATES:
            return Cause(self.state)
        if not self.ledger:
            return Cause("NeverReported")
        last = self.ledger[-1]
        return Cause(str(last.get("error", "")), str(last.get("where", "")))

    @property
    def message(self) -> str:
        """What the last failure said."""
        match self.state:
            case "unreadable":
                return self.letter.unreadable
            case "completed":
                return "its effect has happened, so a redrive would change nothing"
            case "cancelled" | "expired":
                return f"the job is {self.state}, so a redrive would change nothing"
        if not self.ledger:
            return "no run has reported: it crashed, or ran out of time or memory"
        return str(self.ledger[-1].get("message", ""))


@dataclass(frozen=True)
class Group:
    """The letters of one cause, oldest first."""

    cause: Cause
    jobs: Sequence[DeadJob]


def diagnose(target: Target, job_type: JobType[Any], letters: Sequence[Letter]) -> list[DeadJob]:
    """Look up the jobs that letters stand for, in as few reads as possible."""
    keys = [key for letter in letters for key in _keys(job_type, letter)]
    found = target.store.read(dict.fromkeys(keys)) if keys else {}
    return [_dead_job(job_type, letter, found) for letter in letters]


def by_cause(jobs: Iterable[DeadJob]) -> list[Group]:
    """The largest group first."""
    groups: dict[Cause, list[DeadJob]] = defaultdict(list)
    for job in jobs:
        groups[job.cause].append(job)
    aged = [Group(cause, sorted(some, key=_sent_at)) for cause, some in groups.items()]
    return sorted(aged, key=lambda group: (-len(group.jobs), group.cause))


def _sent_at(job: DeadJob) -> float:
    return job.letter.record.sent_at


def _keys(job_type: JobType[Any], letter: Letter) -> list[Key]:
    if letter.event is None:
        return []
    marker = job_type.marker_key(letter.event.id)
    return [job_type.row_key(letter.event.id), *([marker] if marker else [])]


def _dead_job(job_type: JobType[Any], letter: Letter, found: Mapping[Key, Item]) -> DeadJob:
    keys = _keys(job_type, letter)
    row = found.get(keys[0], {}) if keys else {}
    return DeadJob(letter, job_type, row, found.get(keys[1]) if len(keys) > 1 else None)
