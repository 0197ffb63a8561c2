"""The Python that the functions run on: named by the template, found on this machine."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any


class NoInterpreter(Exception):
    """The machine has no working Python of the version that the functions run on."""

    def __init__(self, name: str) -> None:
        version = name.removeprefix("python")
        super().__init__(
            f"This needs {name}, the version that template.yaml runs on Lambda, with pip,\n"
            "and found none on PATH or in pyenv. To get one:\n"
            f"  pyenv install {version} | apt install {name} {name}-venv | brew install python@{version}\n"
            "then try again. All else works without it."
        )


def runtime(template: dict[str, Any]) -> str:
    """The name of the interpreter that the functions run on, such as `python3.13`."""
    return str(template["Globals"]["Function"]["Runtime"])


def find_interpreter(name: str, environ: dict[str, str]) -> Path:
    """Return a working interpreter of that name. Raises `NoInterpreter`."""
    for candidate in _candidates(name, environ):
        if _works(candidate):
            return candidate
    raise NoInterpreter(name)


def _candidates(name: str, environ: dict[str, str]) -> Iterator[Path]:
    for directory in environ.get("PATH", "").split(os.pathsep):
        yield Path(directory) / name
    pyenv = Path(environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    yield from sorted(pyenv.glob(f"versions/{name.removeprefix('python')}*/bin/{name}"), reverse=True)


def _works(interpreter: Path) -> bool:
    # pyenv's shims exist for versions that are installed but not chosen, and fail when run
    if not os.access(interpreter, os.X_OK):
        return False
    return subprocess.run([interpreter, "-c", "import pip"], capture_output=True, check=False).returncode == 0
