"""Functions in processes of their own: what dies there dies as it would on Lambda."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from infra.local.functions import Context, FunctionError, RunnerError, timed_out

ROOT = Path(__file__).resolve().parents[2]
CLOSING_SECONDS = 5.0
_CHUNK_BYTES = 1 << 16


class WorkerDiedError(Exception):
    """The process ended before it answered."""


class Worker:
    """One process that runs one handler, one call at a time."""

    def __init__(self, handler: str, environ: Mapping[str, str]) -> None:
        self._rest = b""
        self.process = subprocess.Popen(  # noqa: S603 (our own module, with a handler's name)
            [sys.executable, "-m", "infra.local.worker", handler],
            env=dict(environ),
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    @property
    def is_alive(self) -> bool:
        return self.process.poll() is None

    def send(self, message: Mapping[str, Any]) -> None:
        """Hand over a call. Raises `WorkerDiedError`."""
        stdin = self.process.stdin
        try:
            if stdin is not None:
                stdin.write(json.dumps(message).encode() + b"\n")
                stdin.flush()
        except OSError as error:
            raise WorkerDiedError from error

    def receive(self, seconds: float) -> dict[str, Any]:
        """Wait for the answer. Raises `TimeoutError` after so many seconds, or `WorkerDiedError`."""
        deadline = time.monotonic() + seconds
        parts = [self._rest]
        while b"\n" not in parts[-1]:
            parts.append(self._read(deadline))
        line, _, self._rest = b"".join(parts).partition(b"\n")
        return cast(dict[str, Any], json.loads(line))

    def _read(self, deadline: float) -> bytes:
        output = cast(Any, self.process.stdout).fileno()
        waiting = select.poll()
        waiting.register(output, select.POLLIN)
        if not waiting.poll(max(0.0, deadline - time.monotonic()) * 1000):
            raise TimeoutError
        chunk = os.read(output, _CHUNK_BYTES)
        if not chunk:
            raise WorkerDiedError
        return chunk

    def kill(self) -> None:
        self.process.kill()
        self._reap()

    def close(self) -> None:
        """Let it finish or give back what it is at, and end."""
        self.process.terminate()
        try:
            self.process.wait(CLOSING_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
        self._reap()

    def _reap(self) -> None:
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        self.process.wait()


@dataclass
class Isolated:
    """Runs a handler in up to `size` processes; one that has died is replaced before the next call."""

    handler: str
    environ: Mapping[str, str]
    size: int
    _free: queue.LifoQueue[Worker | None] = field(default_factory=queue.LifoQueue)
    _workers: set[Worker] = field(default_factory=set)

    def __post_init__(self) -> None:
        for _ in range(self.size):
            self._free.put(self._started())

    @property
    def pids(self) -> list[int]:
        """The processes that live now."""
        return [worker.process.pid for worker in list(self._workers) if worker.is_alive]

    def run(self, event: Any, context: Context) -> Any:
        worker = self._living(self._free.get())
        try:
            return self._answer(worker, event, context)
        finally:
            self._free.put(worker)

    def refresh(self) -> None:
        """Tell every process to finish or give back what it is at, and end. New ones take up changed code."""
        for worker in list(self._workers):
            worker.process.terminate()

    def close(self) -> None:
        for worker in list(self._workers):
            worker.close()
        self._workers.clear()

    def _started(self) -> Worker:
        worker = Worker(self.handler, self.environ)
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
            worker.send({"event": event, "requestId": context.aws_request_id, "seconds": seconds})
            message = worker.receive(seconds)
        except TimeoutError as error:
            self._bury(worker)
            raise RunnerError(timed_out(context.settings.timeout)) from error
        except WorkerDiedError as error:
            self._bury(worker)
            raise RunnerError(_died(worker.process.returncode)) from error
        if "error" in message:
            raise RunnerError(FunctionError(**message["error"]))
        return message["answer"]


def _died(code: int) -> FunctionError:
    how = f"signal: {signal.Signals(-code).name}" if code < 0 else f"exit status {code}"
    return FunctionError("Runtime.ExitError", f"Runtime exited with error: {how}")
