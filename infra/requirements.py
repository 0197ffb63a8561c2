"""Export what is deployed from pyproject.toml, for `sam build`, which reads requirements files only."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
HEADER = "# Exported from pyproject.toml by `make requirements`.\n"


def exports(root: Path = ROOT) -> dict[Path, str]:
    """Return each requirements file's path and the text that it should hold."""
    project: dict[str, Any] = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return {
        root / "handlers" / "requirements.txt": _text(project["dependencies"]),
        root / "infra" / "layers" / "pdf" / "requirements.txt": _text(
            project["optional-dependencies"]["pdf"]
        ),
    }


def stale(root: Path = ROOT) -> Iterator[Path]:
    """Yield the requirements files that do not say what pyproject.toml says."""
    for path, text in exports(root).items():
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            yield path


def _text(dependencies: list[str]) -> str:
    return HEADER + "".join(f"{line}\n" for line in sorted(dependencies))


if __name__ == "__main__":
    for path, text in exports().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
