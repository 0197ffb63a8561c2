"""The order of a FIFO queue: strict within a message group, and a group is with one receiver at a time.

https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/FIFO-queues-understanding-logic.html
and interleaving-multiple-ordered-message-groups.html: while any message of a group is in flight, no other one
of it is returned; a receive returns as many messages of one group as it can before it turns to the next.
"""

from collections import deque
from collections.abc import Callable, Iterator

from infra.local.aws.line import Line
from infra.local.aws.sqs.message import Message

Wanted = Callable[[Message], bool]


class Group:
    """One group: its messages in the order they were sent, and which of them were handed out before.

    `turn` and `due_ms` are its place among the groups.
    """

    tenant: str | None = None

    def __init__(self, name: str) -> None:
        self.name = name
        self.turn = 0
        self.due_ms = 0
        self.is_being_read = False
        self._messages: deque[Message] = deque()
        self._leased: dict[int, Message] = {}

    def add(self, message: Message) -> None:
        self._messages.append(message)

    def lease(self, message: Message) -> None:
        self._leased[id(message)] = message

    def remove(self, message: Message) -> None:
        self._leased.pop(id(message), None)

    def ready_ms(self) -> int | None:
        """When its first message can be received: due itself, and nothing of the group in flight."""
        while self._messages and not self._messages[0].turn:
            self._messages.popleft()
        if not self._messages:
            return None
        return max(self._messages[0].due_ms, *(message.due_ms for message in self._leased.values()), 0)

    def due(self, now_ms: int) -> Iterator[Message]:
        """Its messages from the first on, up to the first that is not due."""
        for message in self._messages:
            if message.turn and message.due_ms > now_ms:
                return
            if message.turn:
                yield message


class GroupLine:
    """All groups of a FIFO queue; whichever became ready first is first."""

    def __init__(self) -> None:
        self._groups: dict[str, Group] = {}
        self._line: Line[Group] = Line()
        self._arrivals = 0

    def place(self, message: Message, due_ms: int) -> None:
        """Put a new message at the end of its group, or set when one that was handed out is due again."""
        name = message.group or ""
        group = self._groups.setdefault(name, Group(name))
        if message.turn:
            group.lease(message)
        else:
            self._arrivals += 1
            message.turn = self._arrivals
            group.add(message)
        message.due_ms = due_ms
        self._replace(group)

    def leave(self, message: Message) -> None:
        message.turn = 0
        group = self._groups.get(message.group or "")
        if group is not None:
            group.remove(message)
            self._replace(group)

    def take(self, now_ms: int, limit: int, wanted: Wanted, groups: int | None = None) -> list[Message]:
        """Up to `limit` wanted messages, of at most so many groups."""
        taken: list[Message] = []
        read: list[Group] = []
        while len(taken) < limit and groups != 0:
            chosen = self._line.take(now_ms, 1, lambda _: True)
            if not chosen:
                break
            found = _read(chosen[0], now_ms, limit - len(taken), wanted)
            groups = groups - 1 if groups is not None and found else groups
            read += chosen
            taken += found
        for group in read:
            group.is_being_read = False
            self._replace(group)
        return taken

    def has_due(self, now_ms: int) -> bool:
        return self.first_due(now_ms) is not None

    def first_due(self, now_ms: int) -> Message | None:
        """The message that would be received first; it stays where it is."""
        group = self._line.first_due(now_ms)
        return None if group is None else next(group.due(now_ms), None)

    def next_due_ms(self, now_ms: int) -> int | None:
        """When the next group that is blocked or delayed becomes ready; milliseconds since the epoch."""
        return self._line.next_due_ms(now_ms)

    def _replace(self, group: Group) -> None:
        if group.is_being_read:
            return
        ready = group.ready_ms()
        if ready is None:
            self._line.leave(group)
            self._groups.pop(group.name, None)
        elif not group.turn or ready != group.due_ms:
            self._line.place(group, ready)


def _read(group: Group, now_ms: int, limit: int, wanted: Wanted) -> list[Message]:
    """What is wanted of a group; it has no place in the line until it is read."""
    group.is_being_read = True
    group.turn = 0
    found: list[Message] = []
    for message in group.due(now_ms):
        if wanted(message):
            found.append(message)
        if len(found) == limit:
            break
    return found
