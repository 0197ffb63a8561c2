"""A standard queue: every message is leased to whoever receives it, and only deleting ends that.

https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-visibility-timeout.html
"""

import dataclasses
import heapq
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple, Protocol

from infra.local.aws.clock import MILLISECONDS
from infra.local.aws.errors import AwsError
from infra.local.aws.line import Line
from infra.local.aws.region import Region
from infra.local.aws.sqs import handles
from infra.local.aws.sqs.message import Message, Received
from infra.local.aws.sqs.settings import Settings

MAX_VISIBILITY_SECONDS = 43_200
_REORDER_WINDOW = 5
_KEPT_PLACES = 1_000


class Order(Protocol):
    """In which order messages can be received, and when. Times are epoch milliseconds."""

    def place(self, message: Message, due_ms: int, /) -> None: ...

    def leave(self, message: Message, /) -> None: ...

    def take(self, now_ms: int, limit: int, wanted: Callable[[Message], bool]) -> list[Message]: ...

    def has_due(self, now_ms: int) -> bool: ...

    def first_due(self, now_ms: int) -> Message | None: ...

    def next_due_ms(self, now_ms: int) -> int | None: ...


class Lease(NamedTuple):
    """When a message was received, and when it becomes claimable again; epoch milliseconds."""

    since_ms: int
    until_ms: int


class Queue:
    """The messages of one standard queue. Callers hold the region's lock."""

    def __init__(
        self,
        region: Region,
        name: str,
        settings: Settings,
        find: Callable[[str], "Queue"],
        line: Order | None = None,
    ) -> None:
        self.name = name
        self.arn = region.arn("sqs", name)
        self.url = f"https://sqs.{region.name}.amazonaws.com/{region.account}/{name}"
        self.settings = settings
        self.created_ms = region.now_ms()
        self._region = region
        self._find = find
        self._line: Order = Line() if line is None else line
        self._messages: dict[int, Message] = {}
        self._leased: dict[int, Message] = {}
        self._by_age: list[tuple[int, int, Message]] = []
        self._leases = 0
        self._copies = 0

    @property
    def messages(self) -> list[Message]:
        """Every message in the queue, whatever its state, oldest arrival first."""
        self._catch_up()
        return list(self._messages.values())

    def accept(self, message: Message, delay_seconds: int | None = None) -> Message:
        """Take what a caller sends. Returns the message that stands for it, which may be an earlier one."""
        self.send(message, delay_seconds)
        return message

    def send(self, message: Message, delay_seconds: int | None = None) -> None:
        """Take a message in; claimable after the delay, or after the queue's own."""
        delay = self.settings.delay_seconds if delay_seconds is None else delay_seconds
        self._add(message, self._region.now_ms() + delay * MILLISECONDS)
        self._region.changed.notify_all()

    def receive(
        self, limit: int, visibility_seconds: int | None = None, groups: int | None = None
    ) -> list[Received]:
        """Lease up to `limit` claimable messages; those received too often are dead letters instead.

        Of a FIFO queue, at most so many `groups`.
        """
        self._catch_up()
        if not self._messages:
            return []
        visibility = self.settings.visibility_seconds if visibility_seconds is None else visibility_seconds
        return [self._lease(message, visibility) for message in self._pick(self._few(limit), groups)]

    def has_claimable(self) -> bool:
        self._catch_up()
        return self._line.has_due(self._region.now_ms())

    def oldest_claimable(self) -> Message | None:
        """The message that would be received next; it is not received."""
        self._drop_expired()
        return self._line.first_due(self._region.now_ms())

    def withdraw(self, message: Message) -> None:
        """Take a message out for good, as a move task does."""
        self._leased.pop(message.lease, None)
        self._remove(message)

    def delete(self, handle: str) -> None:
        """Remove the message received under this handle.

        A handle that a later receive has replaced deletes nothing, and that is no error:
        https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_DeleteMessage.html
        """
        message = self._received_as(handle)
        if message is not None:
            self.withdraw(message)

    def change_visibility(self, handle: str, seconds: int) -> None:
        """Let the lease end that many seconds from now.

        https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_ChangeMessageVisibility.html
        """
        now = self._region.now_ms()
        message = self._received_as(handle)
        if message is None:
            raise handles.invalid(handle)
        if message.due_ms <= now:
            raise AwsError("MessageNotInflight", "The specified message isn't in flight.")
        if now + seconds * MILLISECONDS > message.leased_ms + MAX_VISIBILITY_SECONDS * MILLISECONDS:
            raise AwsError(
                "InvalidParameterValue",
                f"Value {seconds} for parameter VisibilityTimeout is invalid. Reason: Total "
                f"VisibilityTimeout for the message is beyond the limit [{MAX_VISIBILITY_SECONDS} seconds].",
            )
        self._line.place(message, now + seconds * MILLISECONDS)
        self._region.changed.notify_all()

    def lease(self, handle: str) -> Lease | None:
        """The lease that a handle stands for; None when it was replaced or the message is gone."""
        message = self._received_as(handle)
        return None if message is None else Lease(message.leased_ms, message.due_ms)

    def next_due_ms(self) -> int | None:
        """When a delayed or leased message next becomes claimable; milliseconds since the epoch."""
        if not self._messages:
            return None
        self._drop_expired()
        return self._line.next_due_ms(self._region.now_ms())

    def counts(self) -> tuple[int, int, int]:
        """How many messages are visible, in flight, and delayed."""
        now = self._region.now_ms()
        states = Counter(_state(message, now) for message in self.messages)
        return states["visible"], states["in flight"], states["delayed"]

    def _received_as(self, handle: str) -> Message | None:
        return self._leased.get(handles.lease_of(self.name, handle))

    def _pick(self, limit: int, _groups: int | None) -> list[Message]:
        """Claimable messages that may still be handed out; the others are moved on the way."""
        window = limit * _REORDER_WINDOW if self._region.switches.reorder else limit
        picked = self._line.take(self._region.now_ms(), window, self._may_be_received)
        if self._region.switches.reorder:
            self._region.random.shuffle(picked)
        for message in picked[limit:]:
            self._line.place(message, message.due_ms)
        return picked[:limit]

    def _may_be_received(self, message: Message) -> bool:
        """A message received too often goes to the dead letters instead."""
        redrive = self.settings.redrive
        if redrive is None or message.receive_count < redrive.max_receive_count:
            return True
        self.withdraw(message)
        self._find(redrive.target_arn).send(self._as_dead_letter(message), delay_seconds=0)
        return False

    def _few(self, limit: int) -> int:
        return self._region.random.randint(1, limit) if self._region.switches.short_receives else limit

    def _lease(self, message: Message, visibility_seconds: int) -> Received:
        now = self._region.now_ms()
        self._leased.pop(message.lease, None)
        self._leases += 1
        message.lease = self._leases
        message.leased_ms = now
        message.receive_count += 1
        message.first_received_ms = message.first_received_ms or now
        self._leased[message.lease] = message
        self._line.place(message, now + visibility_seconds * MILLISECONDS)
        self._maybe_duplicate(message)
        return Received(message, handles.make(self.name, message.id, message.lease), message.receive_count)

    def _maybe_duplicate(self, message: Message) -> None:
        """https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/standard-queues-at-least-once-delivery.html"""
        if self._region.random.random() < self._region.switches.duplicate_delivery:
            self._add(dataclasses.replace(message, lease=0), self._region.now_ms())

    def _as_dead_letter(self, message: Message) -> Message:
        """Keeps the message id and the time it was first sent, from which retention runs.

        https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-dead-letter-queues.html
        """
        return dataclasses.replace(message, source_arn=self.arn, lease=0)

    def _add(self, message: Message, due_ms: int) -> None:
        self._line.place(message, due_ms)
        self._messages[id(message)] = message
        self._copies += 1
        heapq.heappush(self._by_age, (message.sent_ms, self._copies, message))

    def _remove(self, message: Message) -> None:
        self._line.leave(message)
        self._messages.pop(id(message), None)

    def _catch_up(self) -> None:
        self._region.catch_up()
        self._drop_expired()

    def _drop_expired(self) -> None:
        """https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-messages.html"""
        horizon = self._region.now_ms() - self.settings.retention_seconds * MILLISECONDS
        while self._by_age and self._by_age[0][0] <= horizon:
            message = heapq.heappop(self._by_age)[2]
            self._leased.pop(message.lease, None)
            self._remove(message)
        if len(self._by_age) > 2 * len(self._messages) + _KEPT_PLACES:
            self._by_age = [place for place in self._by_age if id(place[2]) in self._messages]
            heapq.heapify(self._by_age)


def _state(message: Message, now_ms: int) -> str:
    if message.due_ms <= now_ms:
        return "visible"
    return "in flight" if message.lease else "delayed"
