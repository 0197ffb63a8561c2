"""What happens to accounts, whose movements are taken in order."""

import re
from collections.abc import Callable, Mapping

from handlers.postroom.errors import Permanent
from infra.local.aws.direct import Direct
from tests.faults import redriver
from tests.faults.world import World

Script = Callable[[World], None]


def move(world: World, caller: str) -> None:
    """Credited, charged, refunded: three movements of one account."""
    amount = {"amount": 500, "currency": "NGN"}
    world.clients.ask(caller, "POST /wallet/credits", amount)
    world.clients.ask(caller, "POST /wallet/charges", amount)
    world.clients.ask(caller, "POST /wallet/refunds", {"charge": 2})


def two_accounts(world: World) -> None:
    move(world, "alice")
    move(world, "bob")
    world.quiet()


def one_account(world: World) -> None:
    move(world, "alice")
    world.quiet()


def early(world: World) -> None:
    """A relay that is out of its mind has sent the third and the second before the first."""
    world.relays, world.disturbed = False, True
    move(world, "alice")
    for text in reversed([item["event"] for item in _event_items(world)][1:]):
        _publish_ordered(world, text)
    world.drain()
    world.relays = True
    world.quiet()


def behind_a_dead_letter(then: Callable[[World], None]) -> Script:
    """The first movement of an account cannot be written, so that the others wait behind it."""

    def script(world: World) -> None:
        world.clerk.stops_at, world.clerk.trouble = 1, Permanent("not legible")
        two_accounts(world)
        world.clerk.trouble = None
        then(world)
        world.quiet()

    return script


def redriven(world: World) -> None:
    world.redrive("statement")


def passed_over(world: World) -> None:
    world.redriven.add("statement")
    redriver.by_command(world, "statement", redriver.passed_over)


def _event_items(world: World) -> list[Mapping[str, str]]:
    return sorted(
        (item for item in world.shop_items if "event" in item), key=lambda item: item["sk"].rpartition(".")[2]
    )


def _publish_ordered(world: World, text: str) -> None:
    kind, aggregate = (re.search(rf'"{name}":"([^"]+)"', text)[1] for name in ("type", "aggregate"))  # type: ignore[index]
    publication = world.rig.aws.region.new_id()
    Direct(world.rig.aws).client("sns").publish(
        TopicArn=world.stack.ref("OrderedEventsTopic"),
        Message=text,
        MessageGroupId=aggregate,
        MessageDeduplicationId=publication,
        MessageAttributes={
            "type": {"DataType": "String", "StringValue": kind},
            "publication": {"DataType": "String", "StringValue": publication},
        },
    )
