"""The build finds the Python that the functions run on, or says how to get it."""

from pathlib import Path

import pytest

from infra.build import NoInterpreter, find_interpreter


def executable(path: Path, script: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def test_interpreter_on_the_path_is_used(tmp_path: Path) -> None:
    python = executable(tmp_path / "bin" / "python3.13", "exit 0")

    assert find_interpreter("python3.13", {"PATH": str(python.parent), "PYENV_ROOT": "/none"}) == python


def test_shim_of_a_version_not_chosen_is_passed_over(tmp_path: Path) -> None:
    shim = executable(tmp_path / "shims" / "python3.13", "exit 127")
    real = executable(tmp_path / "versions" / "3.13.0" / "bin" / "python3.13", "exit 0")

    found = find_interpreter("python3.13", {"PATH": str(shim.parent), "PYENV_ROOT": str(tmp_path)})

    assert found == real


def test_missing_interpreter_is_told_with_the_way_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(NoInterpreter, match=r"pyenv install 3\.13"):
        find_interpreter("python3.13", {"PATH": str(tmp_path), "PYENV_ROOT": str(tmp_path)})
