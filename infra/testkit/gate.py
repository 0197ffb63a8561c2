"""The gate that every call of the code under test passes: it counts them, and plays the planned fault."""

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from infra.testkit.faults import BATCHES, EVERYWHERE, PARTIAL_ANSWER, Fault, Line

_OWN_CODE = ("handlers.", "infra.ops.")


@dataclass(frozen=True, slots=True, order=True)
class Site:
    """A place that calls out: the function that runs, where in its code, and what it asks of whom."""

    function: str
    target: str
    operation: str
    place: str

    def __str__(self) -> str:
        return f"{self.function}: {self.target}.{self.operation} from {self.place}"


@dataclass(frozen=True, slots=True, order=True)
class Spot:
    """One call of a run: the n-th one of a site, counted from 1."""

    site: Site
    occurrence: int

    def __str__(self) -> str:
        return f"{self.site} #{self.occurrence}"

    @property
    def faults(self) -> tuple[Fault, ...]:
        """What there is to try here."""
        return (*EVERYWHERE, PARTIAL_ANSWER) if self.site.operation in BATCHES else EVERYWHERE


@dataclass(frozen=True, slots=True)
class Plan:
    """A fault, and the call that it hits."""

    spot: Spot
    fault: Fault

    def hits(self, spot: Spot) -> bool:
        first = self.spot.occurrence
        return spot.site == self.spot.site and first <= spot.occurrence < first + self.fault.burst

    def __str__(self) -> str:
        return f"{self.fault.name} at {self.spot}"


@dataclass(slots=True)
class Passing:
    """One call on its way through the gate; the SDK may attempt it several times."""

    fault: Fault | None
    attempts: int = 0


@dataclass
class Gate:
    """`calls` are all calls so far, in order; `struck` is how often the planned fault was played.

    Only calls of the functions in `watched` pass the gate; of all, when that is None. `meanwhile` is what a
    scenario lets somebody else do at the same time as a call.
    """

    plan: Plan | None = None
    watched: frozenset[str] | None = None
    meanwhile: Callable[[Site], None] = lambda _site: None
    calls: list[Spot] = field(default_factory=list)
    struck: int = 0
    _functions: list[str] = field(default_factory=list)
    _counts: Counter[Site] = field(default_factory=Counter)
    _is_raced: bool = False

    @contextmanager
    def running(self, function: str) -> Iterator[None]:
        """Whose calls they are, for as long as the block lasts."""
        self._functions.append(function)
        try:
            yield
        finally:
            self._functions.pop()

    @property
    def is_open(self) -> bool:
        """Whether whatever is called now is neither counted nor disturbed."""
        if self._is_raced or not self._functions:
            return True
        return self.watched is not None and self._functions[-1] not in self.watched

    def enter(self, target: str, operation: str) -> Passing:
        """A call begins."""
        if self.is_open:
            return Passing(None)
        site = Site(self._functions[-1], target, operation, _place())
        self._counts[site] += 1
        spot = Spot(site, self._counts[site])
        self.calls.append(spot)
        is_hit = self.plan is not None and self.plan.hits(spot)
        return Passing(self.plan.fault if self.plan and is_hit else None)

    def play(self, passing: Passing, line: Line) -> Any:
        """One attempt of a call: as it is, or as the fault has it."""
        passing.attempts += 1
        if passing.fault is None:
            return line.perform()
        self.struck += passing.attempts == 1
        return passing.fault.play(line)

    def race(self) -> None:
        """Let the scenario's somebody else act, in the middle of a call."""
        if self.plan is None or self._is_raced:
            return
        self._is_raced = True
        try:
            self.meanwhile(self.plan.spot.site)
        finally:
            self._is_raced = False


def _place() -> str:
    """The innermost function of business or engine on the way here; the shell's if that called by itself."""
    frame = sys._getframe(1)
    shell = ""
    while frame is not None:
        module = str(frame.f_globals.get("__name__", ""))
        if module.startswith(_OWN_CODE):
            place = f"{module.rpartition('.')[2]}.{frame.f_code.co_qualname.replace('.<locals>', '')}"
            if not module.startswith("handlers.postroom.aws."):
                return place
            shell = place
        frame = frame.f_back  # type: ignore[assignment]
    return shell
