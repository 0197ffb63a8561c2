"""The process of one isolated function: calls come in on stdin, word of them goes out on stdout, in lines."""

from __future__ import annotations

import importlib
import json
import os
import select
import signal
import time
import traceback
from dataclasses import dataclass
from types import FrameType
from typing import Any, BinaryIO

from infra.local.narration import log_to_terminal


class _Life:
    """Whether this process has been told to stop, and how it waits for calls meanwhile."""

    def __init__(self) -> None:
        self.stopping = False
        self._stdin = os.fdopen(os.dup(0), "rb")
        self._woken, wake = os.pipe()
        os.set_blocking(wake, False)
        signal.set_wakeup_fd(wake)
        signal.signal(signal.SIGTERM, self._stop)

    def next_call(self) -> bytes:
        """Return the next call, or nothing when there will be none. A call that has come is never dropped."""
        while self._stdin not in self._ready():
            if self.stopping:
                return b""
        return self._stdin.readline()

    def _ready(self) -> list[Any]:
        sources: list[Any] = [self._stdin, self._woken]
        ready, _, _ = select.select(sources, [], [], 0 if self.stopping else None)
        if self._woken in ready:
            os.read(self._woken, 64)
        return ready

    def _stop(self, _signal: int, _frame: FrameType | None) -> None:
        self.stopping = True


@dataclass
class _Context:
    aws_request_id: str
    deadline: float
    life: _Life

    @property
    def function_name(self) -> str:
        return os.environ.get("AWS_LAMBDA_FUNCTION_NAME", "")

    @property
    def memory_limit_in_mb(self) -> str:
        return os.environ.get("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "")

    def get_remaining_time_in_millis(self) -> int:
        # Told to stop, no time is left: what has not begun is given back.
        return 0 if self.life.stopping else max(0, int((self.deadline - time.monotonic()) * 1000))


def serve(path: str) -> None:
    """Serve calls of the handler at `path` until stdin ends or SIGTERM comes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    life = _Life()
    answers = _own_stdout()
    log_to_terminal()
    handler = _handler(path)
    while line := life.next_call():
        _tell(answers, {"begun": True})
        _tell(answers, _call(handler, json.loads(line), life))


def _tell(answers: BinaryIO, message: dict[str, Any]) -> None:
    answers.write(json.dumps(message).encode() + b"\n")
    answers.flush()


def _handler(path: str) -> Any:
    """The handler, or what fails as Lambda does when it cannot be imported: each call anew."""
    module, _, name = path.rpartition(".")
    try:
        return getattr(importlib.import_module(module), name)
    except Exception as error:  # noqa: BLE001 (its own message goes to whoever calls)
        return _Unimportable(error)


@dataclass
class _Unimportable:
    error: Exception

    def __call__(self, _event: Any, _context: Any) -> Any:
        raise self.error


def _own_stdout() -> BinaryIO:
    """Keep stdout for answers; what the handler prints goes to the terminal."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return answers


def _call(handler: Any, call: dict[str, Any], life: _Life) -> dict[str, Any]:
    context = _Context(call["requestId"], time.monotonic() + call["seconds"], life)
    try:
        answer = handler(call["event"], context)
        json.dumps(answer)
    except Exception as error:  # noqa: BLE001 (whatever a handler raises is its invocation's outcome)
        return {
            "error": {"kind": type(error).__name__, "message": str(error), "trace": traceback.format_exc()}
        }
    return {"answer": answer}
