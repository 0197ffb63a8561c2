"""The order in which a queue's messages become claimable: whoever is due first is first."""

import heapq
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from infra.local.aws.turns import Turns


class Placed(Protocol):
    """What has a place in a line: `turn` names the one that is valid (0: none). Times: epoch milliseconds."""

    turn: int
    due_ms: int

    @property
    def tenant(self) -> str | None:
        """Whose it is, where owners take turns."""


Item = TypeVar("Item", bound=Placed)


class Line(Generic[Item]):
    """What is due now, owners in turn and each first come first served, and what is due later.

    Each item has one place, named by its `turn`; places it has left are skipped when they come up, so that
    neither a receive nor a delete ever searches.
    """

    def __init__(self) -> None:
        self._later: list[tuple[int, int, Item]] = []
        self._now: Turns[Item] = Turns()
        self._turns = 0

    def place(self, item: Item, due_ms: int) -> None:
        """(Re)schedule an item; its former place is void."""
        self._turns += 1
        item.turn = self._turns
        item.due_ms = due_ms
        heapq.heappush(self._later, (due_ms, self._turns, item))

    def leave(self, item: Item) -> None:
        item.turn = 0

    def take(self, now_ms: int, limit: int, wanted: Callable[[Item], bool]) -> list[Item]:
        """Take up to `limit` wanted items out of the line; unwanted ones on the way are out of it, too."""
        self._advance(now_ms)
        if self._now.is_empty:
            return []
        taken: list[Item] = []
        while len(taken) < limit and (item := self._now.pop()) is not None:
            if wanted(item):
                taken.append(item)
        return taken

    def has_due(self, now_ms: int) -> bool:
        return self.first_due(now_ms) is not None

    def first_due(self, now_ms: int) -> Item | None:
        """The first claimable item, which stays where it is."""
        self._advance(now_ms)
        return self._now.first()

    def next_due_ms(self, now_ms: int) -> int | None:
        """When the next item that is not claimable yet becomes so; milliseconds since the epoch."""
        self._advance(now_ms)
        while self._later and not _is_held(self._later[0]):
            heapq.heappop(self._later)
        return self._later[0][0] if self._later else None

    def _advance(self, now_ms: int) -> None:
        while self._later and self._later[0][0] <= now_ms:
            place = heapq.heappop(self._later)
            if _is_held(place):
                self._now.add(place[1], place[2])


def _is_held(place: tuple[int, int, Placed]) -> bool:
    return place[1] == place[2].turn
