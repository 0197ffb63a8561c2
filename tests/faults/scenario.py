"""A scenario: a story, who is disturbed in it, and how its jobs may end."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from infra.testkit.gate import Site
from tests.faults.invariants import Expected
from tests.faults.meanwhile import same_work_again
from tests.faults.stories import (
    on_a_bad_day,
    two_orders,
)
from tests.faults.template import function_of
from tests.faults.world import Setting, World

Script = Callable[[World], None]
Meanwhile = Callable[[World, Site], None]

MOST_CALLS = 1_000
DEAD = frozenset({"dead"})
DONE_OR_CANCELLED = frozenset({"completed", "cancelled"})
DEAD_OR_DONE = frozenset({"completed", "dead"})
TOO_LATE = frozenset({"completed", "expired"})


@dataclass(frozen=True)
class Scenario:
    """`disturbs` are the functions whose calls are hit.

    `crosses` is whether each fault is tried once more while every message comes twice. Of a place that calls
    very often, `samples` of its calls are hit, evenly spread.
    """

    name: str
    setting: Setting
    disturbs: frozenset[str]
    script: Script
    expected: Expected = field(default_factory=Expected)
    meanwhile: Meanwhile = same_work_again
    crosses: bool = False
    samples: int = MOST_CALLS


FEW_RECEIVES = 6


def few_receives(template: Mapping[str, Any]) -> Mapping[str, Any]:
    """Queues that give up sooner: a letter's way to the dead letters is the same step over and over."""
    resources = {name: _giving_up_soon(body) for name, body in template["Resources"].items()}
    return {**template, "Resources": resources}


def _giving_up_soon(body: Mapping[str, Any]) -> Mapping[str, Any]:
    properties = body.get("Properties", {})
    if body["Type"] != "AWS::SQS::Queue" or "RedrivePolicy" not in properties:
        return body
    policy = {**properties["RedrivePolicy"], "maxReceiveCount": FEW_RECEIVES}
    return {**body, "Properties": {**properties, "RedrivePolicy": policy}}


def consumer(subscriber: str, script: Script = two_orders, name: str = "", **more: object) -> Scenario:
    return Scenario(
        name or subscriber,
        Setting((subscriber,)),
        frozenset({function_of(subscriber)}),
        script,
        **{"crosses": True, **more},  # type: ignore[arg-type]
    )


def mortal(subscriber: str, script: Script, name: str, **more: object) -> Scenario:
    """A consumer whose jobs die."""
    made = consumer(subscriber, script, name, crosses=False, **more)
    return replace(made, setting=replace(made.setting, change_template=few_receives))


def bad_day(subscriber: str, service: str, operation: str) -> Scenario:
    story = on_a_bad_day(service, operation)
    return consumer(subscriber, story, f"{subscriber}, on a bad day", crosses=False)


def dead_may_be(subscriber: str, ends: frozenset[str] = DEAD) -> Expected:
    return Expected({subscriber: ends})
