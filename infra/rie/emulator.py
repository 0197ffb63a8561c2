"""One function as Lambda would start it: the emulator, AWS's runtime client, and the built package.

Sources: https://github.com/aws/aws-lambda-runtime-interface-emulator and
https://github.com/aws/aws-lambda-python-runtime-interface-client
"""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

from infra.local.functions import Context, FunctionError, RunnerError
from infra.local.servers import LOOPBACK
from infra.processes import Shell, free_port, tail

STARTING_SECONDS = 20.0
OFFLINE = Path(__file__).parent / "offline"
"""What a Python that finds it first does as it starts: docs.python.org/3/library/site.html"""
_PATH = "/2015-03-31/functions/function/invocations"


@dataclass(frozen=True)
class Package:
    """What was built of a function: its own directory, and those of its layers."""

    code: Path
    layers: tuple[Path, ...]

    @property
    def environ(self) -> Mapping[str, str]:
        """docs.aws.amazon.com/lambda/latest/dg/python-layers.html"""
        libraries = ":".join([str(OFFLINE), *(str(layer / "python") for layer in self.layers)])
        return {"LAMBDA_TASK_ROOT": str(self.code), "PYTHONPATH": libraries, "PYTHONNOUSERSITE": "1"}


@dataclass(frozen=True)
class Runtime:
    """The emulator's executable, and an interpreter with what Lambda's runtime has: its client, and boto3."""

    emulator: Path
    interpreter: Path

    def command(self, handler: str, api: int, port: int) -> list[str]:
        """`api` is where the runtime asks for work, `port` where we hand it in, which else is open to all."""
        return [
            str(self.emulator),
            *("--runtime-api-address", f"{LOOPBACK}:{api}"),
            *("--runtime-interface-emulator-address", f"{LOOPBACK}:{port}"),
            *(str(self.interpreter), "-m", "awslambdaric", handler),
        ]


@dataclass
class Emulated:
    """Runs one function's package, one call at a time. It is started at its first call."""

    runtime: Runtime
    package: Package
    handler: str
    environ: Callable[[], Mapping[str, str]]
    log: Path
    _port: int | None = None
    _running: ExitStack = field(default_factory=ExitStack)
    _one_at_a_time: Lock = field(default_factory=Lock)

    def run(self, event: Any, context: Context) -> Any:
        """Return the function's answer. Raises `RunnerError` with what the runtime says of its failure."""
        with self._one_at_a_time:
            port = self._started()
            seconds = context.settings.timeout + STARTING_SECONDS
            return answered(_sent(f"http://{LOOPBACK}:{port}{_PATH}", json.dumps(event).encode(), seconds))

    def refresh(self) -> None:
        """What was built stays as it is."""

    def close(self) -> None:
        self._running.close()

    def _started(self) -> int:
        if self._port is None:
            self._port = self._start(free_port())
        return self._port

    def _start(self, port: int) -> int:
        environ = {**self.environ(), **self.package.environ}
        shell = Shell(self.package.code, environ, self.log)
        command = self.runtime.command(self.handler, free_port(), port)
        process = self._running.enter_context(shell.running(*command))
        end = time.monotonic() + STARTING_SECONDS
        while not _listens(port):
            if process.poll() is not None or time.monotonic() > end:
                raise RunnerError(FunctionError("Runtime.NotStarted", tail(self.log)))
            time.sleep(0.02)
        return port


def answered(body: bytes) -> Any:
    """What the function returned. Raises `RunnerError` for an error, which comes with status 200 as well."""
    answer = json.loads(body) if body.strip() else None
    if isinstance(answer, dict) and "errorType" in answer:
        trace = "".join(answer.get("stackTrace") or ())
        raise RunnerError(FunctionError(answer["errorType"], str(answer.get("errorMessage")), trace))
    return answer


def _sent(url: str, body: bytes, seconds: float) -> bytes:
    with urllib.request.urlopen(urllib.request.Request(url, body), timeout=seconds) as answer:  # noqa: S310 (ours)
        return bytes(answer.read())


def _listens(port: int) -> bool:
    try:
        urllib.request.urlopen(f"http://{LOOPBACK}:{port}/", timeout=1).close()
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False
    return True
