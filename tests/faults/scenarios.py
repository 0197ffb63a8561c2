"""What is replayed: each story once as it is, and then once for each fault at each call."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from handlers.postroom.errors import Permanent, Transient
from infra.testkit.faults import Killed
from infra.testkit.gate import Site
from tests.faults import redriver
from tests.faults.client import EMAIL_DOMAIN
from tests.faults.invariants import Expected
from tests.faults.meanwhile import another_payload, same_work_again
from tests.faults.stories import (
    back_from_an_outage,
    bad_address,
    cancelled_at_once,
    done_and_redriven,
    in_trouble,
    list_the_dead,
    lost_race,
    never_back,
    on_a_bad_day,
    one_late_order,
    order_and_look,
    press_twice,
    redriven_by_command,
    slowly,
    swept_together,
    three_orders_of_one,
    twelve_orders,
    two_orders,
    unmended,
    unrelayed,
)
from tests.faults.world import Setting, World

Script = Callable[[World], None]
Meanwhile = Callable[[World, Site], None]

DEAD = frozenset({"dead"})
DONE_OR_CANCELLED = frozenset({"completed", "cancelled"})
DEAD_OR_DONE = frozenset({"completed", "dead"})


@dataclass(frozen=True)
class Scenario:
    """`disturbs` are the functions whose calls are hit.

    `crosses` is whether each fault is tried once more while every message comes twice.
    """

    name: str
    setting: Setting
    disturbs: frozenset[str]
    script: Script
    expected: Expected = field(default_factory=Expected)
    meanwhile: Meanwhile = same_work_again
    crosses: bool = False


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
        frozenset({f"{subscriber.capitalize()}Function"}),
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


ALL = (
    Scenario("checkout", Setting(("counting",)), frozenset({"CheckoutFunction"}), two_orders),
    Scenario("checkout, pressed twice", Setting(("counting",)), frozenset({"CheckoutFunction"}), press_twice),
    Scenario(
        "checkout, raced by another payload",
        Setting(("counting",)),
        frozenset({"CheckoutFunction"}),
        order_and_look,
        meanwhile=another_payload,
    ),
    Scenario("checkout, a lost race", Setting(("counting",)), frozenset({"CheckoutFunction"}), lost_race),
    Scenario(
        "checkout, by a client that never comes back",
        Setting(("counting",)),
        frozenset({"CheckoutFunction"}),
        never_back,
        Expected(unanswered=True),
    ),
    Scenario(
        "reconcile",
        Setting(("counting",)),
        frozenset({"ReconcileFunction"}),
        never_back,
        Expected(unanswered=True),
    ),
    Scenario(
        "cancel a commit",
        Setting(("counting",)),
        frozenset({"JobsFunction"}),
        cancelled_at_once,
        Expected({"counting": DONE_OR_CANCELLED}),
    ),
    Scenario(
        "cancel a call",
        Setting(("receipts",)),
        frozenset({"JobsFunction", "ReceiptsFunction"}),
        cancelled_at_once,
        Expected({"receipts": DONE_OR_CANCELLED}),
    ),
    Scenario(
        "list",
        Setting(("receipts",), change_template=few_receives),
        frozenset({"JobsFunction"}),
        list_the_dead,
        dead_may_be("receipts"),
    ),
    Scenario("status", Setting(("counting",)), frozenset({"JobsFunction"}), order_and_look),
    Scenario("relay", Setting(("counting",)), frozenset({"RelayFunction"}), two_orders),
    Scenario("relay, two batches", Setting(("counting",)), frozenset({"RelayFunction"}), twelve_orders),
    Scenario("relay, one late", Setting(("counting",)), frozenset({"RelayFunction"}), one_late_order),
    Scenario(
        "relay, back from an outage",
        Setting(("counting",)),
        frozenset({"RelayFunction"}),
        back_from_an_outage,
    ),
    Scenario("sweep", Setting(("counting",)), frozenset({"SweepFunction"}), unrelayed),
    Scenario("sweep, of one shard", Setting(("counting",)), frozenset({"SweepFunction"}), swept_together),
    consumer("receipts"),
    consumer("invoices"),
    consumer("loyalty"),
    consumer("warehouse"),
    bad_day("loyalty", "dynamodb", "TransactWriteItems"),
    bad_day("invoices", "s3", "PutObject"),
    bad_day("warehouse", "dynamodb", "PutItem"),
    consumer("counting", name="commit, grouped"),
    consumer("counting", three_orders_of_one, name="commit, contended"),
    consumer("stumbling", name="commit, singly"),
    consumer("stamping", name="call with writes"),
    consumer("stamping", slowly, name="call, short of time"),
    consumer("labels", name="claimed call, retried in doubt"),
    consumer("gifts", name="claimed call, dead in doubt", expected=dead_may_be("gifts", DEAD_OR_DONE)),
    mortal("receipts", bad_address, name="dead at once", expected=dead_may_be("receipts")),
    mortal(
        "frail",
        unmended(Transient(f"the mailbox of alice@{EMAIL_DOMAIN} is full")),
        name="dead after all attempts",
        expected=dead_may_be("frail"),
    ),
    mortal("frail", in_trouble(Transient("down")), name="redrive after all attempts"),
    mortal("frail", in_trouble(Permanent("never")), name="redrive after a permanent error"),
    mortal("frail", in_trouble(Killed("memory")), name="redrive after crashes alone"),
    Scenario(
        "redrive by command",
        Setting(("frail",), change_template=few_receives),
        frozenset({redriver.OPERATOR}),
        redriven_by_command,
    ),
    mortal("counting", done_and_redriven, name="redrive of what was done"),
    Scenario(
        "watch",
        Setting(("frail",), change_template=few_receives),
        frozenset({"WatchFunction"}),
        unmended(Killed("memory")),
        dead_may_be("frail"),
    ),
    Scenario(
        "watch, two letters",
        Setting(("frail",), change_template=few_receives),
        frozenset({"WatchFunction"}),
        unmended(Killed("memory"), two_orders),
        dead_may_be("frail"),
    ),
)
SCENARIOS: Mapping[str, Scenario] = {each.name: each for each in ALL}
