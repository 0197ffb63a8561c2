"""Where every job stands, as the tables tell it."""

from collections.abc import Mapping

from handlers.postroom.storage import Item
from tests.faults.evidence import Promised
from tests.faults.world import World

LETTERS_KEPT_SECONDS = 14 * 86_400
MARKERS = {"pick": "warehouse", "sale": "sales"}
"""Effects that are their own processed marker: they prove their subscriber's job."""


def states_of(world: World) -> dict[tuple[str, str], str]:
    """By event id and subscriber: the row's state, or what a marker of its own proves."""
    states = {key: str(row.get("state")) for key, row in tabled(world).items()}
    for item in world.shop_items:
        if item["sk"] in MARKERS:
            states[f"{item['pk']}-paid", MARKERS[item["sk"]]] = "completed"
    return states


def tabled(world: World) -> Mapping[tuple[str, str], Item]:
    """The rows of jobs, without the places of lines."""
    return {key: row for key, row in world.job_rows.items() if not key[0].startswith("line-")}


def letter_is_kept(world: World, promised: Promised) -> bool:
    """On a standard queue retention runs from the first send, which is about when the event was born."""
    return world.clock.now() - promised.born < LETTERS_KEPT_SECONDS
