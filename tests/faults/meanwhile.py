"""What somebody else does in the middle of a call."""

from collections.abc import Mapping
from dataclasses import replace

from infra.local.aws.sqs.message import Message
from infra.testkit.gate import Site
from infra.testkit.rig import poll
from tests.faults import redriver
from tests.faults.client import cart
from tests.faults.template import function_of, subscriber_of
from tests.faults.world import SCHEDULES, World


def same_work_again(world: World, site: Site) -> None:
    """What a second process does at the same time: the same request, records, messages or run again."""
    match site.function:
        case "RelayFunction" | "WebhooksOutcomesFunction":
            for mapping in world.stack.mappings:
                if mapping.function.name == site.function:
                    records, _ = mapping.stream.read(0, 100)  # type: ignore[union-attr]
                    mapping.function.invoke({"Records": list(records)})
        case redriver.OPERATOR:
            redriver.act_once(world, world.setting.subscribers[0])
        case "JobsFunction":
            pass
        case schedule if schedule in SCHEDULES:
            world.run_schedule(schedule)
        case function if subscriber := subscriber_of(function, world.setting.subscribers):
            second_copies(world, subscriber)
        case _:
            asked = world.clients.log[-1]
            # two at a time may be told so
            world.clients.insist(replace(asked, answers=[], ends=asked.ends | {409}), tries=1)


def second_copies(world: World, subscriber: str) -> None:
    """SQS delivers what is in work once more, to another process; a FIFO queue, as another publication."""
    queue, region = world.queue(subscriber), world.rig.aws.region
    with region.changed:
        for message in queue.messages:
            if message.lease and message.due_ms > world.clock.now() * 1000:
                copy = replace(message, lease=0, turn=0)
                if queue.settings.is_fifo:
                    copy.id, copy.attributes = region.new_id(), published_anew(message, region.new_id())
                queue.send(copy, 0)
    mapping = world.stack.mapping_of(function_of(subscriber))
    while poll(mapping):
        pass


def published_anew(message: Message, publication: str) -> Mapping[str, Mapping[str, object]]:
    return {**message.attributes, "publication": {"DataType": "String", "StringValue": publication}}


def another_payload(world: World, site: Site) -> None:
    """The same caller uses the same key for something else, at the same time."""
    if site.function == "CheckoutFunction":
        world.clients.order("alice", "k-1", cart("alice", quantity=5), tries=1)
    else:
        same_work_again(world, site)
