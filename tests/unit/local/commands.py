"""`python -m infra.local`, run as it is typed."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

ROOT = Path(__file__).parents[3]
SOON_SECONDS = 60.0
API, TOKEN = r"^  API +(http://127\.0\.0\.1:\d+)$", r"^  TOKEN=(\S+)$"
"""Where `up` says what it serves, and with which token."""


class Command:
    """A running command and what it has printed so far."""

    def __init__(self, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "infra.local", *arguments],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.lines: list[str] = []
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    def find(self, pattern: str) -> str:
        """Wait for a line that matches. Returns the match's first group."""
        end = time.monotonic() + SOON_SECONDS
        while not (found := re.search(pattern, self.text, re.MULTILINE)):
            assert time.monotonic() < end, f"{pattern} is not in:\n{self.text}"
            time.sleep(0.02)
        return found[1]

    def end(self, number: signal.Signals) -> int:
        self.process.send_signal(number)
        code = self.process.wait(timeout=20)
        self._reader.join()
        return code

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        self._reader.join()
        if self.process.stdout:
            self.process.stdout.close()

    def _read(self) -> None:
        for line in self.process.stdout or ():
            self.lines.append(line.rstrip("\n"))
