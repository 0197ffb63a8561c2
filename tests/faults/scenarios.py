"""What is replayed: small stories, each told once as it is and then once for each fault at each call."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from handlers.postroom.errors import Permanent, Transient
from handlers.postroom.idempotency import derived_id
from handlers.shop.checkout import ROUTE
from infra.local.aws.sqs.message import Message
from infra.local.aws.sqs.queue import Queue
from infra.testkit.faults import Killed
from infra.testkit.gate import Site
from infra.testkit.rig import poll
from tests.faults import redriver
from tests.faults.client import EMAIL_DOMAIN, TRIES, cart
from tests.faults.invariants import Expected
from tests.faults.world import Setting, World

Script = Callable[[World], None]
Meanwhile = Callable[[World, Site], None]

DEAD = frozenset({"dead"})
DONE_OR_CANCELLED = frozenset({"completed", "cancelled"})
DEAD_OR_DONE = frozenset({"completed", "dead"})
SLOW_SECONDS = 25.0
"""Of a function's 30: the next record does not fit any more."""


def same_work_again(world: World, site: Site) -> None:
    """What a second process does at the same time: the same request, records, messages or run again."""
    match site.function:
        case "CheckoutFunction":
            asked = world.clients.log[-1]
            world.clients.order(asked.caller, asked.key, asked.body, tries=1)
        case "RelayFunction":
            stream = world.stack.mapping_of("RelayFunction").stream  # type: ignore[union-attr]
            records, _ = stream.read(0, 100)
            world.stack.functions["RelayFunction"].invoke({"Records": list(records)})
        case "SweepFunction" | "WatchFunction" | "ReconcileFunction":
            world.run_schedule(site.function)
        case "JobsFunction":
            pass
        case redriver.OPERATOR:
            redriver.redrive_once(world, world.setting.subscribers[0])
        case function:
            second_copies(world, function.removesuffix("Function").lower())


def second_copies(world: World, subscriber: str) -> None:
    """SQS delivers what is in work once more, to another process."""
    queue = world.queue(subscriber)
    with world.rig.aws.region.changed:
        for message in queue.messages:
            if message.lease and message.due_ms > world.clock.now() * 1000:
                queue.send(replace(message, lease=0), 0)
    mapping = world.stack.mapping_of(f"{subscriber.capitalize()}Function")
    while poll(mapping):
        pass


def another_payload(world: World, site: Site) -> None:
    """The same caller uses the same key for something else, at the same time."""
    if site.function == "CheckoutFunction":
        world.clients.order("alice", "k-1", cart("alice", quantity=5), tries=1)
    else:
        same_work_again(world, site)


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


def two_orders(world: World) -> None:
    world.clients.order("alice", "k-1")
    world.clients.order("bob", "k-1")
    world.quiet()


def one_order(world: World) -> None:
    world.clients.order()
    world.quiet()


def three_orders_of_one(world: World) -> None:
    for key in ("k-1", "k-2", "k-3"):
        world.clients.order("alice", key)
    world.quiet()


def order_and_look(world: World) -> None:
    asked = world.clients.order()
    for answer in asked.accepted:
        for _ in range(TRIES):
            shown = world.clients.get("alice", str(answer.headers["location"]))
            if shown.status < 500:
                break
    world.quiet()


def press_twice(world: World) -> None:
    """The same order again, later, and then something else under the same key."""
    world.clients.order("alice", "k-1")
    world.pass_time(30)
    world.clients.order("alice", "k-1")
    world.clients.order("alice", "k-1", cart("alice", quantity=7))
    world.quiet()


def never_back(world: World) -> None:
    """A client that asks once, and another whose checkout dies right after the charge."""
    world.clients.order("alice", "k-1", tries=1)
    world.gateway.post("/charges", _settlement_key("bob"), {"amount": 500, "currency": "NGN", "token": "t"})
    world.quiet()


def _settlement_key(caller: str) -> str:
    return f"{derived_id(caller, ROUTE, 'k-1')}-{'f' * 26}"


def cancelled_at_once(world: World) -> None:
    """The owner thinks better of it, before and while the work is done."""
    asked = world.clients.order()
    for answer in asked.accepted[:1]:
        for _ in range(TRIES):
            if world.clients.delete("alice", str(answer.headers["location"])).status < 500:
                break
    world.quiet()


def list_the_dead(world: World) -> None:
    bad_address(world)
    for _ in range(TRIES):
        if world.clients.get("bola", "/jobs?state=dead").status < 500:
            break


def twelve_orders(world: World) -> None:
    for number in range(12):
        world.clients.order("alice", f"k-{number}")
    world.quiet()


def slowly(world: World) -> None:
    world.front.pause = lambda: world.clock.advance(SLOW_SECONDS)
    two_orders(world)


def in_trouble(trouble: BaseException) -> Script:
    """The provider fails for good; the jobs die; it is mended; their letters are redriven, twice."""

    def script(world: World) -> None:
        subscriber = world.setting.subscribers[0]
        world.front.trouble = trouble
        one_order(world)
        world.front.trouble = None
        world.redrive(subscriber)
        world.quiet()
        world.redrive(subscriber)
        world.quiet()

    return script


def redriven_by_command(world: World) -> None:
    world.front.trouble = Permanent("never")
    two_orders(world)
    world.front.trouble = None
    redriver.redrive_by_command(world, "frail")
    world.quiet()


def unmended(trouble: BaseException) -> Script:
    def script(world: World) -> None:
        world.front.trouble = trouble
        one_order(world)

    return script


def bad_address(world: World) -> None:
    world.clients.order("bola", "k-1", cart("bola", email="bola.personal.example"))
    world.quiet()


def done_and_redriven(world: World) -> None:
    """The work was done, and still the message went to the dead letters; somebody redrives it."""
    subscriber = world.setting.subscribers[0]
    seen: list[str] = []

    def keep_a_letter(world: World, queue: Queue, message: Message) -> None:
        letter = replace(message, source_arn=queue.arn, lease=0)
        if letter.id not in seen:
            seen.append(letter.id)
            with world.rig.aws.region.changed:
                world.dead_letters(subscriber).send(letter, 0)

    world.on_arrival = keep_a_letter
    two_orders(world)
    world.redrive(subscriber)
    world.quiet()


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
    Scenario("sweep", Setting(("counting",), relays=False), frozenset({"SweepFunction"}), two_orders),
    consumer("receipts"),
    consumer("invoices"),
    consumer("loyalty"),
    consumer("warehouse"),
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
)
SCENARIOS: Mapping[str, Scenario] = {each.name: each for each in ALL}
