"""A process that has imported what functions need, and forks workers from itself within milliseconds."""

from __future__ import annotations

import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infra.local import worker
from infra.local.functions import settle_subscribers

ROOT = Path(__file__).resolve().parents[2]
_LIMIT_BYTES = 1 << 16
_SOCKET = 0


@dataclass(frozen=True)
class Born:
    """A worker process: where to write calls, where to read answers (file descriptors)."""

    pid: int
    calls: int
    answers: int


class Nursery:
    """The parent's side. Any thread may ask."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = dict(environ)
        self._lock = threading.Lock()
        self._start()

    def fork(self, handler: str, environ: Mapping[str, str]) -> Born:
        """Return a new process that serves calls of `handler`, with just that environment."""
        calls_in, calls = os.pipe()
        answers, answers_out = os.pipe()
        request = json.dumps({"handler": handler, "environ": dict(environ)}).encode() + b"\n"
        try:
            with self._lock:
                socket.send_fds(self._socket, [request], [calls_in, answers_out])
                pid = int(self._socket.recv(32))
        finally:
            os.close(calls_in)
            os.close(answers_out)
        return Born(pid, calls, answers)

    def renew(self) -> None:
        """Start again, with the code as it is now."""
        with self._lock:
            self._end()
            self._start()

    def close(self) -> None:
        with self._lock:
            self._end()

    def _start(self) -> None:
        self._socket, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "infra.local.nursery"],
                stdin=theirs.fileno(),
                env=self._environ,
                cwd=ROOT,
                # Ctrl-C is for the parent, which tells them: not even while this one starts may it end them.
                process_group=0,
            )

    def _end(self) -> None:
        self._socket.close()
        self._process.wait()


def main() -> None:
    """The child's side: fork until the parent closes the socket."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    importlib.import_module("boto3")
    settle_subscribers()
    with socket.socket(fileno=os.dup(_SOCKET)) as parent:
        _occupy(_SOCKET)
        while request := _request(parent):
            message, descriptors = request
            # Imported before the fork, so that the next worker of this function has it too.
            _import(message["handler"])
            pid = os.fork()
            if pid == 0:
                _become_worker(parent, message, descriptors)
            for descriptor in descriptors:
                os.close(descriptor)
            parent.send(str(pid).encode())


def _occupy(descriptor: int) -> None:
    """Keep a standard descriptor's number from being given to a pipe."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, descriptor)
    os.close(nothing)


def _request(parent: socket.socket) -> tuple[dict[str, Any], list[int]] | None:
    text, descriptors, _, _ = socket.recv_fds(parent, _LIMIT_BYTES, 2)
    while text and not text.endswith(b"\n"):
        text += parent.recv(_LIMIT_BYTES)
    return (json.loads(text), descriptors) if text else None


def _import(handler: str) -> None:
    try:
        importlib.import_module(handler.rpartition(".")[0])
    except Exception:  # noqa: BLE001 (the worker will meet it again, and say so)
        return


def _become_worker(parent: socket.socket, message: dict[str, Any], descriptors: list[int]) -> None:
    try:
        parent.close()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for target, descriptor in enumerate(descriptors):
            os.dup2(descriptor, target)
            os.close(descriptor)
        os.environ.clear()
        os.environ.update(message["environ"])
        worker.serve(message["handler"])
    finally:
        # Not past the fork: what the nursery would do at its exit is not this process's to do.
        os._exit(0)


if __name__ == "__main__":
    main()
