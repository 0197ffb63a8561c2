"""What somebody else does in the middle of a call."""

from dataclasses import replace

from infra.testkit.gate import Site
from infra.testkit.rig import poll
from tests.faults import redriver
from tests.faults.client import cart
from tests.faults.world import World


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
