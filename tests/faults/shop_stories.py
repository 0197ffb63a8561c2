"""What happens in the rest of the shop: campaigns, customers, shipments."""

import re

from handlers.postroom.aws.expressions import key_attributes, to_attributes
from handlers.postroom.storage import Put
from handlers.shop import audiences
from handlers.shop.audiences import Audience, Size
from infra.local.aws.direct import Direct
from tests.faults.client import EMAIL_DOMAIN, PHONE, TRIES
from tests.faults.world import World

AUDIENCE = Audience("alice", "spring")
RECIPIENTS = 6
TEN_MINUTES = 600
CAMPAIGN = {"audience": AUDIENCE.name, "subject": "Spring", "text": "Come, {name}."}
SIGN_UP = {"name": "Alice", "email": f"alice@{EMAIL_DOMAIN}"}


def blast(world: World) -> None:
    """One mail to each of six, in two steps."""
    join(world)
    world.clients.ask("alice", "POST /campaigns", CAMPAIGN)
    world.quiet()


def blast_stopped(world: World) -> None:
    join(world)
    asked = world.clients.ask("alice", "POST /campaigns", CAMPAIGN)
    for answer in asked.accepted[:1]:
        for _ in range(TRIES):
            if world.clients.delete("alice", str(answer.headers["location"])).status < 500:
                break
    world.quiet()


def join(world: World) -> None:
    put(world, audiences.head(AUDIENCE, Size(RECIPIENTS, RECIPIENTS)))
    for number in range(1, RECIPIENTS + 1):
        put(world, audiences.recipient(AUDIENCE, number, f"r{number}@{EMAIL_DOMAIN}", f"R{number}"))


def put(world: World, what: Put) -> None:
    item = {**to_attributes(what.item), **key_attributes(what.key)}
    Direct(world.rig.aws).client("dynamodb").put_item(TableName=world.stack.ref("ShopTable"), Item=item)


def two_sign_up(world: World) -> None:
    """One of them presses again, with another key: still one account, and one welcome."""
    world.clients.ask("alice", "POST /signup", SIGN_UP)
    world.clients.ask("alice", "POST /signup", SIGN_UP, key="k-2")
    world.clients.ask("bob", "POST /signup", {"name": "Bob", "email": f"bob@{EMAIL_DOMAIN}"})
    world.quiet()


def reset_and_use(world: World) -> None:
    """The link is used, pressed again, and tried once more under another key."""
    world.clients.ask("alice", "POST /signup", SIGN_UP)
    world.clients.ask("alice", "POST /password-resets", {})
    world.pass_time(TEN_MINUTES)
    for token in mailed(world, r"token=(\S+)"):
        use = f"POST /password-resets/{token}/use"
        world.clients.ask("alice", use, {}, 204)
        world.clients.ask("alice", use, {}, 204)
        world.clients.ask("alice", use, {}, 404, key="k-2")
    world.quiet()


def shipped(world: World) -> None:
    """Two orders, both shipped; one of them is tried twice."""
    for caller in ("alice", "bob"):
        asked = world.clients.order(caller)
        for answer in asked.accepted[:1]:
            order_id = answer.json["jobId"].removeprefix("order-").removesuffix("-paid")
            ship = f"POST /orders/{order_id}/ship"
            world.clients.ask(caller, ship, {"phone": PHONE})
            world.clients.ask(caller, ship, {"phone": PHONE}, 409, key="k-2")
    world.quiet()


def hello(world: World) -> None:
    """Three say hello, one after the other; a minute later somebody looks how many there were."""
    for caller in ("alice", "bob", "carol"):
        world.clients.ask(caller, "POST /online", {}, 204)
    world.pass_time(60)
    world.clients.ask("alice", "GET /online", {}, 200)
    world.quiet()


def mailed(world: World, pattern: str) -> list[str]:
    found = [re.search(pattern, arrival.mail.text) for arrival in world.mailroom.arrivals]
    return list(dict.fromkeys(match[1] for match in found if match))
