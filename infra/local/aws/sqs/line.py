"""The order in which a queue's messages become claimable: whoever is due first is first."""

import heapq
from collections import deque
from collections.abc import Iterator

from infra.local.aws.sqs.message import Message

_Place = tuple[int, int, Message]


class Line:
    """Messages due now, first come first served, and those due later.

    Each message has one place, named by its `turn`; places it has left are skipped when they come up, so that
    neither a receive nor a delete ever searches.
    """

    def __init__(self) -> None:
        self._later: list[_Place] = []
        self._now: deque[_Place] = deque()
        self._turns = 0

    def place(self, message: Message, due_ms: int) -> None:
        """(Re)schedule a message; its former place is void."""
        self._turns += 1
        message.turn = self._turns
        message.due_ms = due_ms
        heapq.heappush(self._later, (due_ms, self._turns, message))

    def leave(self, message: Message) -> None:
        message.turn = 0

    def due(self, now_ms: int) -> Iterator[Message]:
        """Take claimable messages out of the line one by one, until the caller has enough."""
        self._advance(now_ms)
        while self._now:
            place = self._now.popleft()
            if _is_held(place):
                yield place[2]

    def has_due(self, now_ms: int) -> bool:
        return self.first_due(now_ms) is not None

    def first_due(self, now_ms: int) -> Message | None:
        """The first claimable message, which stays where it is."""
        self._advance(now_ms)
        while self._now and not _is_held(self._now[0]):
            self._now.popleft()
        return self._now[0][2] if self._now else None

    def next_due_ms(self, now_ms: int) -> int | None:
        """When the next message that is not claimable yet becomes so; milliseconds since the epoch."""
        self._advance(now_ms)
        while self._later and not _is_held(self._later[0]):
            heapq.heappop(self._later)
        return self._later[0][0] if self._later else None

    def _advance(self, now_ms: int) -> None:
        while self._later and self._later[0][0] <= now_ms:
            self._now.append(heapq.heappop(self._later))


def _is_held(place: _Place) -> bool:
    return place[1] == place[2].turn
