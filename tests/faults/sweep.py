"""The sweep: each scenario once as it is, then once for each fault at each call, and under each condition."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from infra.testkit.gate import Plan, Site, Spot
from infra.testkit.rig import NeverQuietError
from tests.faults.conditions import CONDITIONS, DUPLICATES, FREEDOMS, SEEDS
from tests.faults.invariants import Violation, violations
from tests.faults.scenario import Scenario
from tests.faults.world import NotAtRestError, Setting, World, world

DOUBLED = "copy at once, as a new message"
NOT_STRUCK = "0 the fault is played"
NOT_QUIET = "3 all comes to rest"

Variant = Callable[[Setting], Setting]


@dataclass(frozen=True, slots=True)
class Trial:
    """One replay: of which scenario, with which fault or condition, from which seed."""

    plan: Plan | None = None
    condition: str = ""
    seed: int = 0

    def __str__(self) -> str:
        parts = [
            self.condition,
            str(self.plan) if self.plan else "",
            f"seed {self.seed}" if self.seed else "",
        ]
        return ", ".join(filter(None, parts)) or "as it is"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a replay showed. `calls` are those that it made before it was judged."""

    trial: Trial
    calls: Sequence[Spot] = field(default=(), repr=False)
    violations: Sequence[Violation] = ()


def unchanged(setting: Setting) -> Setting:
    return setting


def replay(scenario: Scenario, trial: Trial, variant: Variant = unchanged) -> Outcome:
    with world(variant(scenario.setting), trial.plan, trial.seed) as made:
        made.rig.gate.watched = scenario.disturbs
        made.rig.gate.meanwhile = lambda site: scenario.meanwhile(made, site)
        if trial.condition:
            CONDITIONS[trial.condition](made)
        made.disturbed = bool(trial.plan or trial.condition)
        restless = _told(scenario, made)
        gate = made.rig.gate
        calls = made.calls
        unplayed = [Violation(NOT_STRUCK, str(trial))] if trial.plan and not gate.struck else []
        gate.plan = None
        return Outcome(trial, calls, [*violations(made, scenario.expected), *restless, *unplayed])


def _told(scenario: Scenario, made: World) -> list[Violation]:
    try:
        scenario.script(made)
    except (NotAtRestError, NeverQuietError) as error:
        return [Violation(NOT_QUIET, str(error))]
    return []


@dataclass(frozen=True, slots=True)
class Calls:
    """What a scenario calls: as it is, and while every message comes twice (if that is tried, too)."""

    alone: Sequence[Spot]
    doubled: Sequence[Spot] = ()
    violations: Sequence[Violation] = ()


def calls_of(scenario: Scenario, variant: Variant = unchanged) -> Calls:
    alone = replay(scenario, Trial(), variant)
    calls = sampled(alone.calls, scenario.samples)
    if not scenario.crosses or alone.violations:
        return Calls(calls, (), alone.violations)
    doubled = replay(scenario, Trial(condition=DOUBLED), variant)
    return Calls(calls, sampled(doubled.calls, scenario.samples))


def sampled(calls: Sequence[Spot], most: int) -> Sequence[Spot]:
    """Of each site, `most` calls: the first, the last, and others evenly between."""
    by_site: dict[Site, list[Spot]] = defaultdict(list)
    for spot in calls:
        by_site[spot.site].append(spot)
    return [spot for spots in by_site.values() for spot in _spread(spots, most)]


def _spread(spots: Sequence[Spot], most: int) -> Sequence[Spot]:
    if len(spots) <= most:
        return spots
    return [spots[number * (len(spots) - 1) // (most - 1)] for number in range(most)]


def trials(calls: Calls) -> Iterator[Trial]:
    """Everything to try, given what is called without a fault."""
    yield from (Trial(Plan(spot, fault)) for spot in calls.alone for fault in spot.faults)
    yield from (Trial(condition=name) for name in DUPLICATES)
    yield from (Trial(Plan(spot, fault), DOUBLED) for spot in calls.doubled for fault in spot.faults)
    for name in FREEDOMS:
        yield from (Trial(condition=name, seed=seed) for seed in SEEDS)
