"""Many processes that start from one snapshot of an imported function share nothing that is their own."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from handlers.postroom.aws.deployment import Deployment
from handlers.postroom.aws.entry import Entry, LambdaHandler


@pytest.fixture(autouse=True)
def generator() -> Iterator[None]:
    state = random.getstate()
    yield
    random.setstate(state)


def _chance(deployment: Deployment) -> LambdaHandler:
    return lambda _event, _context: deployment.chance()


def test_processes_that_start_from_one_snapshot_do_not_draw_the_same_numbers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    snapshot = random.getstate()
    context: Any = None
    drawn = []
    for _ in range(2):
        random.setstate(snapshot)
        drawn.append(Entry(_chance)({}, context))

    assert drawn[0] != drawn[1]
