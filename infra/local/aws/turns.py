"""Who is next among what is due: tenants take turns, so that a noisy one does not keep quiet ones waiting.

AWS delivers a tenant's messages after the others' once it is noisy: more than a tenth of what is in flight
and at least 30 messages of it, or more than a tenth of the consumers' recent time; a message without a group
is a tenant of its own. Here turns begin at once, because on one machine there are never 30 in flight.
https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-fair-queues.html and
sqs-fair-queues-detailed.html
"""

from collections import deque
from typing import Generic, Protocol, TypeVar


class InTurn(Protocol):
    """What waits for its turn: valid as long as its `turn` is the one it was added with."""

    turn: int

    @property
    def tenant(self) -> str | None: ...


Item = TypeVar("Item", bound=InTurn)


class Turns(Generic[Item]):
    """First come, first served within a tenant; the tenants one after another."""

    def __init__(self) -> None:
        self._rotation: deque[str | tuple[int, Item]] = deque()
        self._waiting: dict[str, deque[tuple[int, Item]]] = {}

    @property
    def is_empty(self) -> bool:
        return not self._rotation

    def add(self, turn: int, item: Item) -> None:
        if item.tenant is None:
            self._rotation.append((turn, item))
        elif item.tenant in self._waiting:
            self._waiting[item.tenant].append((turn, item))
        else:
            self._waiting[item.tenant] = deque([(turn, item)])
            self._rotation.append(item.tenant)

    def first(self) -> Item | None:
        """Whoever is next; it stays."""
        while self._rotation:
            place = self._next_place(self._rotation[0])
            if place is not None:
                return place[1]
            self._drop(self._rotation.popleft())
        return None

    def pop(self) -> Item | None:
        """Take out whoever is next; its tenant goes to the end."""
        item = self.first()
        if item is None:
            return None
        next_one = self._rotation.popleft()
        if isinstance(next_one, str):
            self._waiting[next_one].popleft()
            self._rotation.append(next_one)
        return item

    def _next_place(self, next_one: str | tuple[int, Item]) -> tuple[int, Item] | None:
        if not isinstance(next_one, str):
            return next_one if _is_held(next_one) else None
        waiting = self._waiting[next_one]
        while waiting and not _is_held(waiting[0]):
            waiting.popleft()
        return waiting[0] if waiting else None

    def _drop(self, next_one: str | tuple[int, Item]) -> None:
        if isinstance(next_one, str):
            del self._waiting[next_one]


def _is_held(place: tuple[int, InTurn]) -> bool:
    return place[0] == place[1].turn
