"""The process of one isolated function: calls come in on stdin, answers go out on stdout, a line each."""

from __future__ import annotations

import importlib
import json
import os
import select
import signal
import sys
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
        self._woken, wake = os.pipe()
        os.set_blocking(wake, False)
        signal.set_wakeup_fd(wake)
        signal.signal(signal.SIGTERM, self._stop)

    def next_call(self) -> bytes:
        """Return the next call, or nothing when there will be none. A call that has come is never dropped."""
        stdin = sys.stdin.buffer
        while stdin not in self._ready(stdin):
            if self.stopping:
                return b""
        return stdin.readline()

    def _ready(self, stdin: BinaryIO) -> list[Any]:
        sources: list[Any] = [stdin, self._woken]
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
    function_name: str = os.environ.get("AWS_LAMBDA_FUNCTION_NAME", "")
    memory_limit_in_mb: str = os.environ.get("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "")

    def get_remaining_time_in_millis(self) -> int:
        # Told to stop, no time is left: what has not begun is given back.
        return 0 if self.life.stopping else max(0, int((self.deadline - time.monotonic()) * 1000))


def main() -> None:
    """Serve calls of the handler named in the arguments until stdin ends or SIGTERM comes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    life = _Life()
    answers = _own_stdout()
    log_to_terminal()
    module, _, name = sys.argv[1].rpartition(".")
    handler = getattr(importlib.import_module(module), name)
    while line := life.next_call():
        answers.write(json.dumps(_call(handler, json.loads(line), life)).encode() + b"\n")
        answers.flush()


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


if __name__ == "__main__":
    main()
