"""The stories that scenarios tell: what clients, operators and providers do."""

from collections.abc import Callable
from dataclasses import replace

from handlers.postroom.errors import Permanent
from handlers.postroom.idempotency import derived_id
from handlers.shop.checkout import ROUTE
from infra.local.aws.sqs.message import Message
from infra.local.aws.sqs.queue import Queue
from tests.faults import redriver
from tests.faults.client import TRIES, cart
from tests.faults.world import World

Script = Callable[[World], None]
SLOW_SECONDS = 25.0
"""Of a function's 30: the next record does not fit any more."""


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
