"""Sweep everything, in as many processes as there are processors, and tell what was tried and found."""

import multiprocessing
import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from infra.testkit.gate import Site
from tests.faults.coverage import not_reached
from tests.faults.planted import BUGS, Bug
from tests.faults.scenarios import SCENARIOS
from tests.faults.sweep import Calls, Outcome, Trial, calls_of, replay, trials

CHUNK = 16


@dataclass(frozen=True, slots=True)
class Finding:
    """What the sweep made of a planted bug: how many replays it took, and the first that broke something."""

    bug: str
    replays: int
    first: Outcome | None


@dataclass
class Report:
    """`tried` is how often each fault was played at each site; `conditions` how often each was in force."""

    tried: dict[Site, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    conditions: Counter[str] = field(default_factory=Counter)
    replays: Counter[str] = field(default_factory=Counter)
    broken: list[tuple[str, Outcome]] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    def add(self, scenario: str, outcome: Outcome) -> None:
        trial = outcome.trial
        self.replays[scenario] += 1
        if trial.plan:
            self.tried[trial.plan.spot.site][trial.plan.fault.name] += 1
        if trial.condition:
            self.conditions[trial.condition] += 1
        if outcome.violations:
            self.broken.append((scenario, outcome))

    @property
    def found(self) -> int:
        return sum(finding.first is not None for finding in self.findings)

    @property
    def not_reached(self) -> list[str]:
        """What functions may do, and no scenario made them do; only a sweep of all can tell."""
        return not_reached(self.tried) if set(self.replays) == set(SCENARIOS) else []

    @property
    def is_good(self) -> bool:
        return not self.broken and not self.not_reached and self.found == len(self.findings)


def sweep(
    names: Sequence[str], tell: Callable[[int, int], None], processes: int = os.cpu_count() or 1
) -> Report:
    """Replay the named scenarios in every way, and look for every planted bug.

    `tell` hears how many replays of how many are done.
    """
    report = Report()
    with multiprocessing.get_context("fork").Pool(processes) as pool:
        work: list[tuple[str, Trial]] = []
        for name, calls in zip(names, pool.map(_calls, names, chunksize=1), strict=True):
            report.add(name, Outcome(Trial(), (), calls.violations))
            work += [(name, trial) for trial in trials(calls)]
        found = pool.imap_unordered(_look_for, range(len(BUGS)))
        for done, (name, outcome) in enumerate(pool.imap_unordered(_replay, work, chunksize=CHUNK)):
            report.add(name, outcome)
            tell(done, len(work))
        report.findings = sorted(found, key=lambda finding: _place(finding.bug))
    return report


def _calls(name: str) -> Calls:
    return calls_of(SCENARIOS[name])


def _replay(task: tuple[str, Trial]) -> tuple[str, Outcome]:
    name, trial = task
    outcome = replay(SCENARIOS[name], trial)
    return name, Outcome(outcome.trial, (), outcome.violations)


def _look_for(number: int) -> Finding:
    return look_for(BUGS[number])


def look_for(bug: Bug) -> Finding:
    """Sweep a bug's scenarios until something breaks."""
    replays = 0
    for outcome in chain.from_iterable(_outcomes(bug, name) for name in bug.shows_in):
        replays += 1
        if outcome.violations:
            return Finding(bug.name, replays, outcome)
    return Finding(bug.name, replays, None)


def _outcomes(bug: Bug, name: str) -> Iterator[Outcome]:
    scenario = SCENARIOS[name]
    calls = calls_of(scenario, bug.plant)
    yield Outcome(Trial(), (), calls.violations)
    for trial in trials(calls):
        yield replay(scenario, trial, bug.plant)


def _place(bug: str) -> int:
    return [each.name for each in BUGS].index(bug)


def by_function(tried: Mapping[Site, Counter[str]]) -> Mapping[str, Sequence[Site]]:
    sites: dict[str, list[Site]] = defaultdict(list)
    for site in sorted(tried):
        sites[site.function].append(site)
    return sites
