"""A model of AWS on a clock that stands still, with the functions under test behind the gate."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Protocol, cast

from boto3.session import Session

from handlers.postroom.aws.deployment import Deployment
from handlers.postroom.aws.entry import Entry
from infra.local.aws import LocalAws
from infra.local.aws.clock import ManualClock
from infra.local.aws.direct import Direct
from infra.local.functions import Context, FunctionError, FunctionSettings, InProcess, Runner, RunnerError
from infra.testkit.faults import Killed
from infra.testkit.gate import Gate, Plan
from infra.testkit.wire import Wire

START = 1_790_000_000.0
ROUNDS_AT_ONE_INSTANT = 200


class NeverQuietError(AssertionError):
    """Work that goes round and round."""


class Pollable(Protocol):
    """A mapping: see `infra.local.stack`."""

    def claim(self) -> Callable[[], int] | None: ...

    def next_due(self) -> float | None: ...


class Model(LocalAws):
    """The model, which deploys without wire."""

    def session(self) -> Session:
        return Direct(self).as_session()


@cache
def wire() -> Wire:
    return Wire()


class Rig:
    """One run. Making the next one unplugs it."""

    def __init__(self, plan: Plan | None = None, seed: int = 0) -> None:
        self.clock = ManualClock(START)
        self.gate = Gate(plan)
        self.aws = Model(self.clock, seed)
        wire().plug(self.aws, self.clock, self.gate)

    @property
    def session(self) -> Session:
        """What the code under test makes its clients of."""
        return cast(Session, wire())

    def runner(self, entries: Mapping[str, Entry]) -> Callable[..., Runner]:
        """How functions are run: those whose handler is in `entries` by that entry."""

        def make(settings: FunctionSettings, surroundings: Callable[[], Deployment]) -> Runner:
            def bound() -> Deployment:
                return replace(surroundings(), session=self.session, _clients={})

            return Mortal(
                settings.name, InProcess(settings.handler, bound, entries.get(settings.handler)), self.gate
            )

        return make

    def drain(self, pollables: Sequence[Pollable], until: float) -> None:
        """Let time pass until nothing waits any more, or until that time (epoch seconds)."""
        self._settle(pollables)
        while (due := self._next_due(pollables)) is not None and due <= until:
            self.clock.advance(max(0.0, due - self.clock.now()))
            self._settle(pollables)

    def _settle(self, pollables: Sequence[Pollable]) -> None:
        for _ in range(ROUNDS_AT_ONE_INSTANT):
            if not sum(poll(each) for each in pollables):
                return
        raise NeverQuietError("something goes round and round without time passing")

    def _next_due(self, pollables: Sequence[Pollable]) -> float | None:
        times = [self.aws.next_due(), *(each.next_due() for each in pollables)]
        return min((time for time in times if time is not None), default=None)


def poll(pollable: Pollable) -> int:
    """Do one piece of its work now. Returns the number of records handed to the function."""
    work = pollable.claim()
    return work() if work else 0


@dataclass(frozen=True)
class Mortal:
    """Runs a function whose process may be killed: then nothing is reported, and the next one starts anew."""

    name: str
    inner: InProcess
    gate: Gate

    def run(self, event: Any, context: Context) -> Any:
        try:
            with self.gate.running(self.name):
                return self.inner.run(event, context)
        except Killed:
            self.inner.refresh()
            raise RunnerError(FunctionError("Runtime.ExitError", "the process was killed")) from None

    def refresh(self) -> None:
        self.inner.refresh()

    def close(self) -> None:
        self.inner.close()
