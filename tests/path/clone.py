"""A clone of this repository in another directory, to be changed and run there."""

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
TAKEN = ("handlers", "infra", "tests", "docs/examples", "docs/events")


@dataclass(frozen=True)
class Clone:
    """Commands run inside it and find its code, not ours."""

    path: Path

    @classmethod
    def make(cls, path: Path) -> "Clone":
        for name in TAKEN:
            shutil.copytree(ROOT / name, path / name, ignore=shutil.ignore_patterns("__pycache__"))
        for name in (
            "template.yaml",
            "pyproject.toml",
            "docs/openapi.yaml",
            "docs/asyncapi.yaml",
            "docs/runbook.md",
        ):
            shutil.copy(ROOT / name, path / name)
        return cls(path)

    def files(self) -> dict[str, str]:
        """Text of what a developer edits, by path."""
        own = [self.path / "template.yaml", *(self.path / "handlers").rglob("*.py")]
        return {str(file.relative_to(self.path)): file.read_text(encoding="utf-8") for file in own}

    def run(self, *arguments: str) -> str:
        """Run Python there; fails with its output unless it exits 0."""
        environ = {**os.environ, "PYTHONDONTWRITEBYTECODE": "", "PYTHONPATH": str(self.path)}
        ended = subprocess.run(
            [sys.executable, *arguments], cwd=self.path, env=environ, capture_output=True, text=True
        )
        assert ended.returncode == 0, ended.stdout + ended.stderr
        return ended.stdout

    def passed(self, keyword: str, *tests: str) -> Counter[str]:
        """Run those of the tests there that the keyword fits. Returns how many passed in each file."""
        ran = self.run("-m", "pytest", "-q", "-rp", "-p", "no:cacheprovider", "-k", keyword, *tests)
        passed = [line.removeprefix("PASSED ") for line in ran.splitlines() if line.startswith("PASSED ")]
        return Counter(name.partition("::")[0] for name in passed)

    def answer(self, script: str) -> Any:
        """What a script there prints as JSON."""
        return json.loads(self.run("-c", script))
