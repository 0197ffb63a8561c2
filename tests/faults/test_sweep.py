"""A slice of the sweep for every day; `make faults` tries everything."""

import random
from collections.abc import Sequence

import pytest

from tests.faults.planted import BUGS, Bug
from tests.faults.report import look_for
from tests.faults.scenario import Scenario
from tests.faults.scenarios import SCENARIOS
from tests.faults.sweep import Trial, calls_of, replay, trials

SLICE = 4
SEEN_AT_ONCE = 12
"""Replays after which a planted bug of the daily slice is found at the latest."""


@pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=SCENARIOS)
def test_no_promise_is_broken_as_it_is_and_under_a_few_faults(scenario: Scenario) -> None:
    calls = calls_of(scenario)

    assert list(calls.violations) == []
    assert calls.alone, "the scenario makes no call that could be disturbed"
    for trial in _some(list(trials(calls))):
        assert (str(trial), replay(scenario, trial).violations) == (str(trial), [])


def _some(everything: Sequence[Trial]) -> Sequence[Trial]:
    return random.Random(1).sample(everything, SLICE)


QUICK = (
    "marker written first",
    "marker written after the effect",
    "acknowledged before the effect",
    "dead on first sight of a redriven message",
    "publish result ignored",
    "conflict read as duplicate",
    "changes published too",
    "ledger tells the address",
    "status shown to everybody",
    "refund forgotten",
)


@pytest.mark.parametrize("bug", [each for each in BUGS if each.name in QUICK], ids=lambda bug: bug.name)
def test_a_planted_bug_is_found(bug: Bug) -> None:
    finding = look_for(bug)

    assert finding.first is not None
    assert finding.replays <= SEEN_AT_ONCE
