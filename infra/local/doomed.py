"""A function whose process is killed: before its work, or after it when a handler is named.

`python -m infra.local.doomed [package.module.handler]`, with the event on stdin.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infra.local.functions import FunctionError, RunnerError

ROOT = Path(__file__).resolve().parents[2]
_MILLISECONDS = 30_000


@dataclass(frozen=True)
class Doomed:
    """Runs a function in such a process. `handler`, if given, does its work before the end."""

    environ: Mapping[str, str]
    handler: str = ""

    def run(self, event: Any, _context: Any) -> Any:
        """Raises `RunnerError`, always."""
        done = subprocess.run(  # noqa: S603 (our own module, with a handler's name)
            [sys.executable, "-m", "infra.local.doomed", *([self.handler] if self.handler else [])],
            input=json.dumps(event).encode(),
            env=dict(self.environ),
            cwd=ROOT,
            capture_output=True,
            check=False,
        )
        if done.returncode != -signal.SIGKILL:
            raise RuntimeError(done.stderr.decode())
        raise RunnerError(FunctionError("Runtime.ExitError", "RequestId: local Error: signal: killed"))

    def refresh(self) -> None:
        """There is nothing to keep."""

    def close(self) -> None:
        """There is nothing to end."""


class _Context:
    aws_request_id = "local"

    def get_remaining_time_in_millis(self) -> int:
        return _MILLISECONDS


def main() -> None:
    event = json.load(sys.stdin)
    for path in sys.argv[1:]:
        module, _, name = path.rpartition(".")
        getattr(importlib.import_module(module), name)(event, _Context())
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main()
