"""Other programs, each in a process group of its own that ends with us, whatever it started itself."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

CLOSING_SECONDS = 10.0
_TOLD_LINES = 30


class CommandFailed(Exception):
    """A program ended with an error; the message holds the end of what it said."""

    def __init__(self, command: Sequence[str], code: int, log: Path) -> None:
        super().__init__(f"{' '.join(command)}\nended with {code}. {tail(log)}")


@dataclass(frozen=True)
class Shell:
    """Where commands run, with which variables, and the file that keeps what they say."""

    directory: Path
    environ: Mapping[str, str]
    log: Path

    def run(self, *command: str) -> None:
        """Run to the end. Raises `CommandFailed`."""
        with self.running(*command) as process:
            code = process.wait()
        if code:
            raise CommandFailed(command, code, self.log)

    @contextmanager
    def running(self, *command: str) -> Iterator[subprocess.Popen[bytes]]:
        """A program that runs beside us, and ends when the block does: asked to at first, then made to."""
        with self.log.open("ab") as log:
            process = subprocess.Popen(
                command,
                cwd=self.directory,
                env=dict(self.environ),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                # Out of the terminal's group: Ctrl-C is ours to pass on, in our order.
                start_new_session=True,
            )
            try:
                yield process
            finally:
                _end(process)


def free_port() -> int:
    """A TCP port of the loopback interface on which nobody listens now."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def tail(log: Path) -> str:
    """The last lines of a log, with its place."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    return "\n".join([f"The end of {log}:", *lines[-_TOLD_LINES:]])


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(CLOSING_SECONDS)
    # Its children may outlive it. The group has its number until the last of them is gone.
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
