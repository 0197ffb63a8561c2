"""The build uses the functions' own Python, or says how to get it, and ships what their processor loads."""

import shutil
import struct
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from infra import packages
from infra.binaries import MACHINES
from infra.build import Package, WrongBuild, compare, compile_bytes, digests, inspect
from infra.interpreters import NoInterpreter, find_interpreter

RUNTIME = "python3.13"


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

    inspect(tmp_path, RUNTIME, "arm64")


@pytest.mark.parametrize("name", ["_core.so", "libjpeg.so.62"], ids=["DEPLOY-1", "DEPLOY-1-bundled"])
def test_wheel_of_another_processor_is_refused(tmp_path: Path, name: str) -> None:
    library(tmp_path / "fine.so", "arm64")
    library(tmp_path / name, "x86_64")

    with pytest.raises(WrongBuild, match=name):
        inspect(tmp_path, RUNTIME, "arm64")


def test_build_without_its_compiled_wheel_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WrongBuild, match="no compiled library"):
        inspect(tmp_path, RUNTIME, "arm64")


def wheel(directory: Path, *tags: str) -> None:
    file = directory / "some-1.0.dist-info" / "WHEEL"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("Wheel-Version: 1.0\n" + "".join(f"Tag: {tag}\n" for tag in tags), encoding="utf-8")


@pytest.mark.parametrize(
    "tags",
    [
        ["py3-none-any"],
        ["cp313-cp313-manylinux_2_17_aarch64", "cp313-cp313-manylinux2014_aarch64"],
        ["cp39-abi3-manylinux_2_28_aarch64"],
    ],
)
def test_wheel_for_the_functions_python_passes(tmp_path: Path, tags: list[str]) -> None:
    library(tmp_path / "fine.so", "arm64")
    wheel(tmp_path, *tags)

    inspect(tmp_path, RUNTIME, "arm64")


@pytest.mark.parametrize(
    "tag",
    [
        "cp312-cp312-manylinux2014_aarch64",
        "cp313-cp313-manylinux2014_x86_64",
        "cp313-cp313-musllinux_1_2_aarch64",
        "cp313-cp313-macosx_11_0_arm64",
        "py2-none-any",
    ],
)
def test_wheel_for_another_python_or_platform_is_refused(tmp_path: Path, tag: str) -> None:
    library(tmp_path / "fine.so", "arm64")
    wheel(tmp_path, tag)

    with pytest.raises(WrongBuild, match=r"no wheel for python3\.13 on arm64"):
        inspect(tmp_path, RUNTIME, "arm64")


def package(path: Path, text: str = "x = 1\n") -> Path:
    path.mkdir(parents=True)
    (path / "module.py").write_text(text, encoding="utf-8")
    return path


def test_same_sources_become_the_same_package_wherever_they_are_built(tmp_path: Path) -> None:
    source = Path(packages.__file__).read_text(encoding="utf-8")
    first, second = package(tmp_path / "a", source), package(tmp_path / "b" / "c", source)

    compile_bytes(Path(sys.executable), first)
    compile_bytes(Path(sys.executable), second)

    assert list(first.rglob("*.pyc"))
    assert packages.digest(first) == packages.digest(second)


def test_another_content_or_name_is_another_hash(tmp_path: Path) -> None:
    one = package(tmp_path / "one")
    other = package(tmp_path / "other", "x = 2\n")
    renamed = package(tmp_path / "renamed")
    (renamed / "module.py").rename(renamed / "moved.py")

    assert len({packages.digest(each) for each in (one, other, renamed)}) == 3


def test_package_above_its_bound_is_told(tmp_path: Path) -> None:
    function, layer = package(tmp_path / "Function"), package(tmp_path / "Layer" / "python").parent
    for each in (function, layer):
        with (each / "large").open("wb") as file:
            file.truncate(int(packages.FUNCTION_LIMIT_MB * 1e6))

    assert list(packages.too_large([function, layer])) == ["Function"]


def powertools() -> Path:
    found = find_spec("aws_lambda_powertools")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).parent


def test_metrics_load_nothing_of_what_is_left_out(tmp_path: Path) -> None:
    installed = powertools()
    shutil.copytree(installed, tmp_path / installed.name, ignore=shutil.ignore_patterns("__pycache__"))

    packages.drop_unused(tmp_path)

    module = "aws_lambda_powertools.metrics.provider.cloudwatch_emf.cloudwatch"
    script = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import {module} as it; print(it.__file__)"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout.startswith(str(tmp_path))
    assert not [name for name in packages.UNUSED if (tmp_path / name).exists()]


def test_what_is_left_out_is_there_to_be_left_out() -> None:
    assert [name for name in packages.UNUSED if not (powertools().parent / name).is_dir()] == []


def test_build_that_comes_out_otherwise_is_told(tmp_path: Path) -> None:
    built = [
        Package(package(tmp_path / "One"), ["One", "Twin"]),
        Package(package(tmp_path / "Other"), ["Other"]),
    ]
    first = digests(built)
    (tmp_path / "Other" / "module.py").write_text("x = 3\n", encoding="utf-8")
    second = digests(built)

    compare(first, first)
    with pytest.raises(WrongBuild, match=r"another came of it: Other$"):
        compare(first, second)
    assert packages.digest_of_all(first) != packages.digest_of_all(second)
