"""A copy of this repository that can be built, deployed and changed without touching the original."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from infra.deploy_local.refused import refused, without
from infra.expand import read_template
from infra.processes import Shell

ROOT = Path(__file__).parents[2]
DIRECTORIES = ("docs", "handlers", "infra", "tests")
FILES = ("pyproject.toml", "samconfig.toml", "template.yaml")
POINT_BEFORE, POINT_AFTER = "KOBO_PER_POINT = 10_000", "KOBO_PER_POINT = 5_000"
"""The change that shows: an order earns twice the points."""
SUBSCRIBER = "fraud"


@dataclass(frozen=True)
class Workspace:
    """The copy at `path`; `log` keeps what its commands say."""

    path: Path
    log: Path

    @classmethod
    def make(cls, path: Path, log: Path) -> Workspace:
        for name in DIRECTORIES:
            shutil.copytree(ROOT / name, path / name, ignore=shutil.ignore_patterns("__pycache__"))
        for name in FILES:
            shutil.copy(ROOT / name, path / name)
        # Where a build looks for the SAM CLI: beside the template.
        (path / ".venv-sam").symlink_to(ROOT / ".venv-sam")
        return cls(path, log)

    @property
    def template(self) -> Path:
        return self.path / "template.yaml"

    def build(self, architecture: str) -> None:
        """What `make build` does, but for the validation. Raises `CommandFailed`."""
        self._python("-m", "infra.build", "--architecture", architecture, "--no-validation")

    def leave_out_what_is_refused(self) -> Sequence[str]:
        """Of the template that was built. Returns the logical ids."""
        built = self.path / ".aws-sam" / "build" / "template.yaml"
        template = read_template(built)
        left_out = refused(template)
        # JSON is YAML as well.
        built.write_text(json.dumps(without(template, left_out), default=str), encoding="utf-8")
        return left_out

    def give_more_points(self) -> None:
        """Change the loyalty points' rate. Raises `ValueError` when the code no longer says it so."""
        path = self.path / "handlers" / "shop" / "loyalty.py"
        text = path.read_text(encoding="utf-8")
        if POINT_BEFORE not in text:
            raise ValueError(f"{path} does not say {POINT_BEFORE}")
        path.write_text(text.replace(POINT_BEFORE, POINT_AFTER), encoding="utf-8")

    def add_subscriber(self) -> None:
        """Run our own command for it. Raises `CommandFailed`."""
        self._python("-m", "infra.ops.cli", "new", "subscriber", SUBSCRIBER, "--on", "order.paid")

    def _python(self, *arguments: str) -> None:
        environ = {**os.environ, "PYTHONPATH": str(self.path), "PYTHONDONTWRITEBYTECODE": "1"}
        Shell(self.path, environ, self.log).run(sys.executable, *arguments)
