"""Drive a stack in real time: claim work as it comes, and do it on threads."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

from infra.local.aws import LocalAws
from infra.local.stack import Pollable

LONGEST_NAP_SECONDS = 1.0
log = logging.getLogger("infra.local")


class Driven(Protocol):
    """What a dispatcher needs of a stack."""

    @property
    def pollables(self) -> Sequence[Pollable]: ...

    @property
    def aws(self) -> LocalAws: ...

    @property
    def stopping(self) -> threading.Event: ...

    def now(self) -> float: ...

    def next_due(self) -> float | None: ...


class Dispatcher:
    """Hands claimed work to threads, at most `concurrency` pieces of each mapping at once."""

    def __init__(self, stack: Driven, concurrency: int) -> None:
        self._stack = stack
        self._limits = {pollable.name: min(pollable.concurrency, concurrency) for pollable in stack.pollables}
        self._in_work: Counter[str] = Counter()
        self._changed = stack.aws.region.changed
        self._pool = ThreadPoolExecutor(sum(self._limits.values()), "function")
        self._thread = threading.Thread(target=self._run, name="dispatcher", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Claim nothing more, and wait for what is in work to be finished or given back."""
        self._stack.stopping.set()
        with self._changed:
            self._changed.notify_all()
        self._thread.join()
        self._pool.shutdown(wait=True)

    def _run(self) -> None:
        while not self._stack.stopping.is_set():
            with self._changed:
                # Before the claims, so that what falls due during them is not slept through.
                nap = self._nap()
                for pollable in self._stack.pollables:
                    self._claim(pollable)
                # One round is enough: nobody else changes anything until the wait lets go of the lock.
                if not self._stack.stopping.is_set():
                    self._changed.wait(nap)

    def _claim(self, pollable: Pollable) -> None:
        try:
            self._claim_some(pollable)
        except Exception:
            # One mapping's trouble must not stop the others, nor pass unseen.
            log.exception("%s cannot take its work", pollable.name)

    def _claim_some(self, pollable: Pollable) -> None:
        while self._in_work[pollable.name] < self._limits[pollable.name] and (work := pollable.claim()):
            self._in_work[pollable.name] += 1
            self._pool.submit(self._do, pollable.name, work)

    def _do(self, name: str, work: Callable[[], int]) -> None:
        try:
            work()
        except Exception:
            log.exception("%s: a mapping failed outside of its function", name)
        finally:
            with self._changed:
                self._in_work[name] -= 1
                self._changed.notify_all()

    def _nap(self) -> float:
        due = self._stack.next_due()
        if due is None:
            return LONGEST_NAP_SECONDS
        # A due time that has passed belongs to work beyond the limits, whose end wakes us.
        return min(LONGEST_NAP_SECONDS, max(0.01, due - self._stack.now()))
