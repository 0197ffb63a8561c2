"""Whether code can be imported, tried where nothing is left of it: in an interpreter of its own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

LIMIT_SECONDS = 30.0
_TRIAL = """
import importlib, sys
for path in sys.argv[1:]:
    name = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    try:
        importlib.import_module(name)
    except BaseException as error:
        reason = " ".join(str(error).split())
        sys.exit(f"{path}: {type(error).__name__}: {reason}")
"""


def import_failure(root: Path, files: Sequence[Path]) -> str | None:
    """Import files of packages in `root` one by one. Returns which fails first and why, if any does."""
    names = [path.relative_to(root).as_posix() for path in files]
    try:
        trial = subprocess.run(  # noqa: S603 (our own words, with names of files)
            [sys.executable, "-B", "-c", _TRIAL, *names],
            cwd=root,
            capture_output=True,
            text=True,
            timeout=LIMIT_SECONDS,
            check=False,
            # Ctrl-C is for the parent: no trouble of the code's.
            process_group=0,
        )
    except subprocess.TimeoutExpired:
        return f"{', '.join(names)}: no end of their import after {LIMIT_SECONDS:.0f} seconds"
    said = trial.stderr.strip().splitlines() or [f"{', '.join(names)}: the interpreter died at their import"]
    return said[-1] if trial.returncode else None
