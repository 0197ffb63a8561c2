"""The build uses the functions' own Python, or says how to get it, and ships what their processor loads."""

import struct
from pathlib import Path

import pytest

from infra.binaries import MACHINES
from infra.build import NoInterpreter, WrongBuild, find_interpreter, inspect


def executable(path: Path, script: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def library(path: Path, architecture: str) -> Path:
    path.write_bytes(b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HH", 3, MACHINES[architecture]))
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


def test_wheels_of_the_functions_processor_pass(tmp_path: Path) -> None:
    library(tmp_path / "_core.cpython-313-aarch64-linux-gnu.so", "arm64")
    library(tmp_path / "libjpeg.so.62", "arm64")

    inspect(tmp_path, "arm64")


@pytest.mark.parametrize("name", ["_core.so", "libjpeg.so.62"])
def test_wheel_of_another_processor_is_refused(tmp_path: Path, name: str) -> None:
    library(tmp_path / "fine.so", "arm64")
    library(tmp_path / name, "x86_64")

    with pytest.raises(WrongBuild, match=name):
        inspect(tmp_path, "arm64")


def test_build_without_its_compiled_wheel_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WrongBuild, match="no compiled library"):
        inspect(tmp_path, "arm64")
