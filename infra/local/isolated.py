"""Functions in processes of their own: what dies there dies as it would on Lambda."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import select
import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from infra.local.functions import Context, FunctionError, RunnerError, timed_out
from infra.local.nursery import Born, Nursery

CLOSING_SECONDS = 5.0
_CHUNK_BYTES = 1 << 16


DIED = FunctionError("Runtime.ExitError", "Runtime exited without an answer: its process has died")


class WorkerDiedError(Exception):
    """The process ended before it answered."""


class NeverBegunError(Exception):
    """The process ended before it read the call."""


class Worker:
    """One process that runs one handler, one call at a time."""

    def __init__(self, born: Born) -> None:
        self.pid = born.pid
        self._calls = born.calls
        self._answers = born.answers
        self._rest = b""

    @property
    def is_alive(self) -> bool:
        if self._answers < 0:
            return False
        # Its end of the pipe is closed when it dies, however it dies.
        waiting = select.poll()
        waiting.register(self._answers, select.POLLIN)
        return not any(event & (select.POLLHUP | select.POLLNVAL) for _, event in waiting.poll(0))

    def begin(self, call: Mapping[str, Any], seconds: float) -> None:
        """Hand a call over and wait until it has been read. Raises `NeverBegunError` or `TimeoutError`."""
        data = json.dumps(call).encode() + b"\n"
        try:
            while data:
                data = data[os.write(self._calls, data) :]
            self.receive(seconds)
        except (OSError, WorkerDiedError) as error:
            if isinstance(error, TimeoutError):
                raise
            raise NeverBegunError from error

    def receive(self, seconds: float) -> dict[str, Any]:
        """Wait for the answer. Raises `TimeoutError` after so many seconds, or `WorkerDiedError`."""
        deadline = time.monotonic() + seconds
        parts = [self._rest]
        while b"\n" not in parts[-1]:
            parts.append(self._read(deadline))
        line, _, self._rest = b"".join(parts).partition(b"\n")
        return cast(dict[str, Any], json.loads(line))

    def _read(self, deadline: float) -> bytes:
        if not self._wait(deadline):
            raise TimeoutError
        chunk = os.read(self._answers, _CHUNK_BYTES)
        if not chunk:
            raise WorkerDiedError
        return chunk

    def _wait(self, deadline: float) -> bool:
        waiting = select.poll()
        waiting.register(self._answers, select.POLLIN)
        return bool(waiting.poll(max(0.0, deadline - time.monotonic()) * 1000))

    def terminate(self) -> None:
        """Tell it to finish or give back what it is at, and to end."""
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        self._signal(signal.SIGKILL)
        self._forget()

    def close(self) -> None:
        """Let it end by itself, and not for long."""
        self.terminate()
        end = time.monotonic() + CLOSING_SECONDS
        while self.is_alive and time.monotonic() < end:
            self._wait(end)
        self.kill()

    def _signal(self, number: signal.Signals) -> None:
        if self.is_alive:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def _forget(self) -> None:
        if self._answers >= 0:
            os.close(self._calls)
            os.close(self._answers)
            self._calls = self._answers = -1


@dataclass
class Isolated:
    """Runs a handler in up to `size` processes; one that has died is replaced before the next call."""

    handler: str
    environ: Mapping[str, str]
    size: int
    nursery: Nursery
    _free: queue.LifoQueue[Worker | None] = field(default_factory=queue.LifoQueue)
    _workers: set[Worker] = field(default_factory=set)

    def __post_init__(self) -> None:
        for _ in range(self.size - 1):
            self._free.put(None)
        self._free.put(self._started())

    @property
    def pids(self) -> list[int]:
        """The processes that live now."""
        return [worker.pid for worker in list(self._workers) if worker.is_alive]

    def run(self, event: Any, context: Context) -> Any:
        worker = self._free.get()
        try:
            while True:
                worker = self._living(worker)
                try:
                    return self._answer(worker, event, context)
                except NeverBegunError:
                    # It was told to stop, or died, before it read the call: that is no run of the function.
                    continue
        finally:
            self._free.put(worker)

    def refresh(self) -> None:
        """Tell every process to finish or give back what it is at, and end. New ones take up changed code."""
        for worker in list(self._workers):
            worker.terminate()

    def close(self) -> None:
        for worker in list(self._workers):
            worker.close()
        self._workers.clear()

    def _started(self) -> Worker:
        worker = Worker(self.nursery.fork(self.handler, self.environ))
        self._workers.add(worker)
        return worker

    def _living(self, worker: Worker | None) -> Worker:
        if worker is not None and worker.is_alive:
            return worker
        self._bury(worker)
        return self._started()

    def _bury(self, worker: Worker | None) -> None:
        if worker is not None:
            worker.kill()
            self._workers.discard(worker)

    def _answer(self, worker: Worker, event: Any, context: Context) -> Any:
        # Not the remaining time, which is none while the run stops: the process is told of that itself.
        seconds = context.deadline - context.clock()
        try:
            worker.begin({"event": event, "requestId": context.aws_request_id, "seconds": seconds}, seconds)
            message = worker.receive(seconds)
        except TimeoutError as error:
            self._bury(worker)
            raise RunnerError(timed_out(context.settings.timeout)) from error
        except WorkerDiedError as error:
            raise RunnerError(DIED) from error
        if "error" in message:
            raise RunnerError(FunctionError(**message["error"]))
        return message["answer"]
