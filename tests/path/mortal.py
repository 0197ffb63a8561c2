"""Processes that end in the middle of things."""

from dataclasses import dataclass
from typing import Any, NoReturn

from infra.local.functions import FunctionError, InProcess, RunnerError
from tests.path.mailer import Killed


@dataclass
class Mortal:
    """Runs a function in a process that can die: `deaths` counts those to come, after the work is done."""

    inner: InProcess
    deaths: int = 0
    deaths_at_start: int = 0

    def run(self, event: Any, context: Any) -> Any:
        if self.deaths_at_start:
            self.deaths_at_start -= 1
            self._die()
        answer = self._run(event, context)
        if self.deaths:
            self.deaths -= 1
            self._die()
        return answer

    def refresh(self) -> None:
        self.inner.refresh()

    def close(self) -> None:
        self.inner.close()

    def _run(self, event: Any, context: Any) -> Any:
        try:
            return self.inner.run(event, context)
        except Killed:
            self._die()

    def _die(self) -> NoReturn:
        self.inner.refresh()
        raise RunnerError(FunctionError("Runtime.ExitError", "signal: killed"))
