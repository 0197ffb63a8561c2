"""Fan-out: one request becomes very many messages, in bounded steps that chain through the outbox.

Each step is a job of its own. How far it got and the event of the next step are committed together with its
outcome, so steps neither get lost nor run twice. A step that dies before that commit starts again where it
had begun, and hands out the same messages again: as they are the same jobs, they collapse.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from typing_extensions import TypedDict

from .errors import AlreadyDone
from .job_views import CANCELLED, CANCELLING, OPEN_STATES, QUEUED, overall
from .storage import Absent, AllOf, Compare, Exists, Item, Key, Update

_TOTAL = "toEnqueue"


class ProgressDocument(TypedDict):
    """How many are handed out, of how many."""

    enqueued: int
    of: int


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a fan-out has come. `step` is the event id of the step that is next or under way."""

    total: int
    enqueued: int
    step: str | None
    is_stopped: bool

    @classmethod
    def of(cls, item: Item) -> "Progress | None":
        """As the entity tells it; None for an entity that is no fan-out."""
        if _TOTAL not in item:
            return None
        return cls(int(item[_TOTAL]), int(item["enqueued"]), item.get("step"), "stoppedAt" in item)

    @property
    def document(self) -> ProgressDocument:
        return {"enqueued": self.enqueued, "of": self.total}

    def step_after(self, first: str) -> str | None:
        """The present step, unless it is the first."""
        return self.step if self.step != first else None

    def state(self, step_states: Sequence[str]) -> str:
        """The state of the whole; `step_states` are those of the jobs of `step`."""
        if self.step is None:
            return CANCELLED if self.is_stopped else "completed"
        of_step = overall(step_states)
        if self.is_stopped:
            return CANCELLING if of_step in OPEN_STATES else CANCELLED
        return "running" if of_step == QUEUED and self.enqueued else of_step


def attributes(total: int, first_step: str) -> Item:
    """What makes an entity a fan-out, at its birth."""
    return {_TOTAL: total, "enqueued": 0, "step": first_step}


def advanced(key: Key, *, step: str, to: str | None, enqueued: int) -> Update:
    """One step is done; `to` is the next one, None after the last."""
    return Update(
        key,
        set={"step": to} if to else {},
        add={"enqueued": enqueued},
        remove=() if to else ("step",),
        condition=Compare("step", "=", step),
        refused=AlreadyDone(f"{step} is done"),
    )


def stopped(key: Key, now: float) -> Update:
    """Nothing more of it is to be done. `now` is epoch seconds."""
    return Update(
        key, set={"stoppedAt": int(now * 1000)}, condition=AllOf((Exists(_TOTAL), Absent("stoppedAt")))
    )
