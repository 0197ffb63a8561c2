"""The test that every subscriber should have: the same event several times, killed anywhere, one effect."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from handlers.postroom.aws.entry import Entry
from handlers.postroom.aws.queue_entry import QueueEntry, queue_handler
from handlers.postroom.events import Event
from handlers.postroom.jobs import CallJob
from handlers.postroom.storage import Put
from infra.testkit.bench import Bench, Effects
from infra.testkit.faults import CRASHES, Fault
from infra.testkit.gate import Plan, Spot
from infra.testkit.provider import Watched

EVERY_CALL, NEVER = "every call", "never"


class EffectError(AssertionError):
    """An effect that was lost, doubled or changed, or a job that did not end; says after which fault."""


def assert_effect_once(
    handler: QueueEntry,
    event: Event[Any],
    *,
    deliveries: int = 3,
    crash_at: str = EVERY_CALL,
    given: Sequence[Put] = (),
    provider: Any = None,
    environ: Mapping[str, str] | None = None,
    faults: Sequence[Fault] = CRASHES,
) -> int:
    """Deliver `event` once as it is; then `deliveries` times for each fault at each call, and compare.

    `handler` is the entry of a `queue_*` module. `given` are the items that it loads. `provider` takes the
    place of the one that a call receives, and is to honour keys: asking again for the same is no second
    effect. `crash_at` is `"every call"`, `"never"`, or the operation (`"PutItem"`, `"send"`) to crash at,
    which is right before the call's effect and right after it; or whatever else `faults` names.

    Returns the number of runs that were compared. Raises `EffectError` for the first that differs.
    """
    trial = _Trial(handler, event, given, provider, environ or {})
    expected, calls = trial.run(1, None)
    chosen = [spot for spot in calls if crash_at in (EVERY_CALL, spot.site.operation)]
    if not chosen and crash_at != NEVER:
        raise EffectError(f"nothing to crash at: {crash_at} is not among {sorted(map(str, calls))}")
    plans = [None, *_plans(chosen, faults)]
    for plan in plans:
        effects, _ = trial.run(deliveries, plan)
        if effects != expected:
            raise EffectError(f"{_when(plan, deliveries)}: {effects}, not {expected}")
    return len(plans)


def _plans(spots: Sequence[Spot], faults: Sequence[Fault]) -> Iterator[Plan]:
    return (Plan(spot, fault) for spot in spots for fault in faults if fault in spot.faults)


def _when(plan: Plan | None, deliveries: int) -> str:
    return f"delivered {deliveries} times" + (f", {plan}" if plan else "")


class _Trial:
    """Runs one subscriber, each time in a world of its own."""

    def __init__(
        self,
        handler: QueueEntry,
        event: Event[Any],
        given: Sequence[Put],
        provider: Any,
        environ: Mapping[str, str],
    ) -> None:
        self._handler = handler
        self._event = event
        self._given = given
        self._provider = provider
        self._environ = environ

    def run(self, deliveries: int, plan: Plan | None) -> tuple[Effects, Sequence[Spot]]:
        watched: list[Watched] = []
        bench = Bench(self._entry(watched), self._environ, self._given, plan)
        if self._provider is not None:
            watched.append(Watched("provider", self._provider, bench.rig.gate, bench.rig.clock))
        bench.deliver(self._event, deliveries)
        self._check_ends(bench, _when(plan, deliveries))
        return bench.effects(watched[0] if watched else None), bench.rig.gate.calls

    def _entry(self, watched: list[Watched]) -> Entry:
        job_type = self._handler.job_type
        if self._provider is None or not isinstance(job_type, CallJob):
            return self._handler
        return queue_handler(job_type, provider=lambda _: watched[0])

    def _check_ends(self, bench: Bench, when: str) -> None:
        job_type = self._handler.job_type
        row = bench.job(self._event.id, job_type.subscriber)
        is_own_marker = job_type.marker is not None
        state = row.get("state", "completed" if is_own_marker else "missing")
        crashes = {failure.error.kind for failure in bench.failures if failure.error}
        if state != "completed":
            raise EffectError(f"{when}: the job is {state} in the end: {row.get('failures', '')}")
        if bench.queue.messages or bench.dead_letters.messages:
            raise EffectError(f"{when}: messages are left in the queue, or among the dead letters")
        if crashes - {"Runtime.ExitError"}:
            raise EffectError(f"{when}: the function raised {sorted(crashes)}")
