"""A heartbeat: leases of messages that are being worked on do not end under a slow handler.

The Lambda service has none; there a queue's visibility timeout has to be longer than its function's. The
local run polls by itself, and a function in its process cannot be killed when its time is over: without a
heartbeat, a breakpoint would bring its message to a second worker.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass

from infra.local.aws.clock import MILLISECONDS
from infra.local.aws.region import Region
from infra.local.aws.sqs.queue import MAX_VISIBILITY_SECONDS, Queue

Holding = Callable[[Sequence[str]], AbstractContextManager[None]]
"""Holds the messages of these receipt handles as long as its `with` block runs."""


def not_holding(_handles: Sequence[str]) -> AbstractContextManager[None]:
    """Let leases end when they end, as the Lambda service does."""
    return nullcontext()


@dataclass
class _Held:
    """One message at work; its lease ended at `until_ms` (epoch) when we last looked."""

    queue: Queue
    handle: str
    until_ms: int

    @property
    def lease_ms(self) -> int:
        return self.queue.settings.visibility_seconds * MILLISECONDS

    @property
    def due_ms(self) -> int:
        """Half a lease before its end, so that one late beat loses nothing."""
        return self.until_ms - self.lease_ms // 2


class Heartbeat:
    """Renews leases when half of their time is over, to 12 hours from the receive at most, as SQS allows.

    https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-visibility-timeout.html
    """

    name = "heartbeat"
    concurrency = 1

    def __init__(self, region: Region) -> None:
        self._region = region
        self._held: dict[str, _Held] = {}
        self._first_due_ms: float = math.inf
        """No later than the first that is due: what is let go of does not move it."""

    def holding(self, queue: Queue) -> Holding:
        """How messages of a queue are held."""

        @contextmanager
        def hold(handles: Sequence[str]) -> Iterator[None]:
            with self._region.changed:
                self._hold(queue, handles)
            try:
                yield
            finally:
                with self._region.changed:
                    for handle in handles:
                        self._held.pop(handle, None)

        return hold

    def next_due(self) -> float | None:
        """When to look at what is held (epoch seconds), if anything is; it may turn out to be early."""
        return self._first_due_ms / MILLISECONDS if self._held else None

    def claim(self) -> Callable[[], int] | None:
        """Return the work of renewing what is due, if anything is. It hands over no record."""
        due = self.next_due()
        return self._beat if due is not None and due <= self._region.clock.now() else None

    def _hold(self, queue: Queue, handles: Sequence[str]) -> None:
        if not self._held:
            self._first_due_ms = math.inf
        for handle in handles:
            lease = queue.lease(handle)
            if lease:
                held = self._held[handle] = _Held(queue, handle, lease.until_ms)
                self._first_due_ms = min(self._first_due_ms, held.due_ms)

    def _beat(self) -> int:
        with self._region.changed:
            now_ms = self._region.now_ms()
            for held in list(self._held.values()):
                if held.due_ms <= now_ms and not self._renew(held, now_ms):
                    del self._held[held.handle]
            self._first_due_ms = min((held.due_ms for held in self._held.values()), default=math.inf)
        return 0

    def _renew(self, held: _Held, now_ms: int) -> bool:
        """Whether the message is held on: not when its function has decided on it, nor past 12 hours."""
        lease = held.queue.lease(held.handle)
        if lease is None or lease.until_ms != held.until_ms or lease.until_ms <= now_ms:
            return False
        last_ms = lease.since_ms + MAX_VISIBILITY_SECONDS * MILLISECONDS
        seconds = (min(now_ms + held.lease_ms, last_ms) - now_ms) // MILLISECONDS
        if now_ms + seconds * MILLISECONDS <= held.until_ms:
            return False
        held.queue.change_visibility(held.handle, seconds)
        held.until_ms = now_ms + seconds * MILLISECONDS
        return True
