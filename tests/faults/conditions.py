"""How messages may be delivered, and reads answered, on a day that is none of our faults."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import ceil

from infra.local.aws.sqs.message import Message
from infra.local.aws.sqs.queue import Queue
from infra.testkit.rig import START
from tests.faults.meanwhile import published_anew
from tests.faults.world import DAY_SECONDS, OnArrival, World

FIVE_MINUTES_ONE_SECOND = 301
"""Past the five minutes in which a FIFO queue would still have deduplicated."""
ROWS_EXPIRE_SECONDS = int(46 * DAY_SECONDS)

Prepare = Callable[[World], None]


def copied(after_seconds: int, *, new_id: bool = False, new_publication: bool = False) -> Prepare:
    """Every message comes a second time, though none before it is due.

    A later message of the same publication under a new id is what a redrive looks like, and may reopen. A
    FIFO queue repeats nothing by itself: there it is always another publication. What comes 46 days later is
    still read, but not what would come 46 days after that.
    """

    def arrive(world: World, queue: Queue, message: Message) -> None:
        region, is_fifo = world.rig.aws.region, queue.settings.is_fifo
        if after_seconds >= ROWS_EXPIRE_SECONDS and world.clock.now() > START + DAY_SECONDS:
            return
        if new_id and after_seconds and not is_fifo:
            world.redriven.update(world.setting.subscribers)
        delay_seconds = after_seconds + ceil(max(0, message.due_ms - region.now_ms()) / 1000)
        copy = replace(
            message,
            id=region.new_id() if new_id or new_publication or is_fifo else message.id,
            sent_ms=region.now_ms() + after_seconds * 1000,
            attributes=(
                published_anew(message, region.new_id()) if new_publication or is_fifo else message.attributes
            ),
            lease=0,
            turn=0,
        )
        with region.changed:
            queue.send(copy, delay_seconds)

    return _arriving(arrive)


def _arriving(arrive: OnArrival) -> Prepare:
    def prepare(world: World) -> None:
        world.on_arrival = arrive

    return prepare


def reordered(world: World) -> None:
    world.rig.aws.switches.reorder = True
    world.rig.aws.switches.short_receives = True


def duplicating(world: World) -> None:
    world.rig.aws.switches.duplicate_delivery = 0.3
    reordered(world)


def stale(world: World) -> None:
    world.rig.aws.switches.stale_seconds = 600.0


DUPLICATES: Mapping[str, Prepare] = {
    "copy at once": copied(0),
    "copy at once, as a new message": copied(0, new_id=True),
    "copy after 5 min 1 s": copied(FIVE_MINUTES_ONE_SECOND),
    "copy after 14 days": copied(int(14 * DAY_SECONDS), new_id=True),
    "published again at once": copied(0, new_publication=True),
    "published again after 5 min 1 s": copied(FIVE_MINUTES_ONE_SECOND, new_publication=True),
    "published again after 14 days": copied(int(14 * DAY_SECONDS), new_publication=True),
    "copy when the row has expired, and is still read": copied(ROWS_EXPIRE_SECONDS, new_id=True),
}
FREEDOMS: Mapping[str, Prepare] = {
    "out of order": reordered,
    "at least once": duplicating,
    "stale reads": stale,
}
SEEDS: Sequence[int] = (1, 2, 3)
CONDITIONS: Mapping[str, Prepare] = {**DUPLICATES, **FREEDOMS}
