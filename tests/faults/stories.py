"""The stories that scenarios tell: what clients, operators and providers do."""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace

from handlers.postroom.aws.deployment import CALL_ATTEMPTS
from handlers.postroom.aws.expressions import to_attributes
from handlers.postroom.errors import Permanent
from handlers.postroom.idempotency import derived_id
from handlers.postroom.outbox import SHARDS, shard_of
from handlers.shop.checkout import ROUTE
from handlers.shop.orders import aggregate_of
from infra.local.aws.direct import Direct
from infra.local.aws.sqs.message import Message
from infra.local.aws.sqs.queue import Queue
from tests.faults import redriver
from tests.faults.client import TRIES, cart
from tests.faults.providers import BusyCards
from tests.faults.world import World

Script = Callable[[World], None]
SWEPT_AFTER_SECONDS = 70.0
SLOW_SECONDS = 25.0
"""Of a function's 30: the next record does not fit any more."""


def two_orders(world: World) -> None:
    two_orders_only(world)
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


def lost_race(world: World) -> None:
    """While a card is charged, the same caller orders something else under the same key, and is quicker."""
    other = cart("alice", quantity=5)
    world.cards.target = BusyCards(world.gateway, [lambda: world.clients.order("alice", "k-1", other)])
    world.clients.order("alice", "k-1")
    world.quiet()


def on_a_bad_day(service: str, operation: str) -> Script:
    """AWS is busy once, for longer than the SDK is patient."""

    def script(world: World) -> None:
        two_orders_only(world)
        world.rig.aws.switches.throttle(service, operation, CALL_ATTEMPTS)
        world.quiet()

    return script


def once_refused(service: str, operation: str, story: Script) -> Script:
    """A story of which AWS is too busy for one call, for longer than the SDK is patient."""

    def script(world: World) -> None:
        world.rig.aws.switches.throttle(service, operation, CALL_ATTEMPTS)
        story(world)

    return script


def once_without_mail(story: Script) -> Script:
    """A story whose first mail is not taken at once."""

    def script(world: World) -> None:
        world.mailroom.refuses = 1
        story(world)

    return script


def back_from_an_outage(world: World) -> None:
    """The relay was down; what it finds is old, in part swept by then, and one row is no event at all."""
    world.relays = False
    two_orders_only(world)
    world.pass_time(SWEPT_AFTER_SECONDS)
    world.run_schedule("SweepFunction")
    world.clients.order("alice", "k-2")
    _write_broken_row(world)
    world.pass_time(SWEPT_AFTER_SECONDS)
    world.relays = True
    world.quiet()


def one_late_order(world: World) -> None:
    world.relays = False
    world.clients.order()
    world.pass_time(SWEPT_AFTER_SECONDS)
    world.relays = True
    world.quiet()


def unrelayed(world: World) -> None:
    world.relays = False
    two_orders(world)


def swept_together(world: World) -> None:
    """Two rows of one shard, and one that is no event at all; nobody reads the stream."""
    world.relays = False
    for key in _keys_of_one_shard():
        world.clients.order("alice", key)
    _write_broken_row(world)
    world.quiet()


def two_orders_only(world: World) -> None:
    world.clients.order("alice", "k-1")
    world.clients.order("bob", "k-1")


def _keys_of_one_shard() -> list[str]:
    shards: dict[str, list[str]] = defaultdict(list)
    for key in (f"k-{number}" for number in range(SHARDS + 1)):
        aggregate = aggregate_of(derived_id("alice", ROUTE, key))
        shards[shard_of(aggregate)].append(key)
    return max(shards.values(), key=len)[:2]


def _write_broken_row(world: World) -> None:
    row = {"pk": "order-broken", "sk": "event-broken", "event": "no event", "unpublished": "0"}
    item = to_attributes({**row, "bornAt": int(world.clock.now() * 1000)})
    table = world.stack.ref("ShopTable")
    Direct(world.rig.aws).client("dynamodb").put_item(TableName=table, Item=item)


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
    redriver.by_command(world, "frail")
    world.quiet()


def unmended(trouble: BaseException, orders: Script = one_order) -> Script:
    def script(world: World) -> None:
        world.front.trouble = trouble
        orders(world)

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
