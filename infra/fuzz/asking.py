"""One run of schemathesis against the local run, as one of its callers."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from infra.checks.template import SHIPPED, Template
from infra.contracts import routes
from infra.contracts.files import OPENAPI
from infra.fuzz import settings
from infra.fuzz.counted import FuzzedRun
from infra.local.local_run import ROOT

LONGEST_SECONDS = 240


@dataclass(frozen=True)
class Outcome:
    """What it came to: its exit code, its cases, and the kinds of failures that it found."""

    code: int
    cases: int
    failures: Sequence[str]


@dataclass(frozen=True)
class Asking:
    """How to ask: `examples` are at most so many for each route and phase, `more` are further options."""

    program: Path
    run: FuzzedRun
    seed: int
    examples: int
    more: Sequence[str]

    def ask(self, caller: str, paths: Sequence[str] = (), *, quiet: bool = False) -> Outcome:
        """Let one caller ask, and the others for what is hers. Raises `TimeoutExpired` when it hangs."""
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder) / "run.json"
            command = [
                *(str(self.program), "--config-file", str(self._configuration(caller, Path(folder)))),
                *("run", str(ROOT / OPENAPI), "--url", self.run.urls.api, "--continue-on-failure"),
                *("--seed", str(self.seed), "--max-examples", str(self.examples)),
                *("--report", "json", "--report-json-path", str(report)),
                *(option for path in paths for option in ("--include-path", path)),
                *self.more,
            ]
            out = subprocess.DEVNULL if quiet else None
            ended = subprocess.run(command, cwd=folder, check=False, timeout=LONGEST_SECONDS, stdout=out)
            return _outcome(ended.returncode, report)

    def _configuration(self, caller: str, folder: Path) -> Path:
        auth, configuration = folder / "callers.json", folder / "schemathesis.toml"
        others = [name for name in settings.CALLERS if name != caller]
        auth.write_text(settings.callers({name: self.run.stack.token(name) for name in [caller, *others]}))
        operations = list(routes.operations(Template.load(SHIPPED)).values())
        configuration.write_text(settings.configuration(operations, auth))
        return configuration


def _outcome(code: int, report: Path) -> Outcome:
    """Without a report it has not come as far as asking."""
    if not report.exists():
        return Outcome(code or 1, 0, [])
    told = json.loads(report.read_text())
    return Outcome(code, told["test_cases"]["generated"], [each["type"] for each in told["failures"]])
