"""What `sam build` installs is locked: each package at one version, each wheel by its hash."""

from collections.abc import Callable
from pathlib import Path

import pytest

from infra import requirements
from infra.lock import Lock, merged, read, text

PROJECT = """
[project]
dependencies = ["pydantic>=2,<3", "b"]
[project.optional-dependencies]
pdf = ["fpdf2>=2"]
"""
ARM, INTEL, PURE = "a" * 64, "b" * 64, "c" * 64


def lock(*ranges: str) -> Lock:
    names = [each.partition(">")[0] for each in ranges]
    return Lock(tuple(ranges), {f"{name}==2.0": [ARM, INTEL] for name in names} | {"further==1": [PURE]})


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text(PROJECT, encoding="utf-8")
    for path, ranges in requirements.declared(tmp_path).items():
        path.parent.mkdir(parents=True)
        path.write_text(text(lock(*ranges)), encoding="utf-8")
    return tmp_path


def test_shipped_requirements_are_fresh() -> None:
    assert list(requirements.stale()) == []


def test_shipped_wheels_are_pinned_for_both_processors() -> None:
    (core,) = [
        digests
        for path in requirements.declared()
        for pin, digests in read(path.read_text(encoding="utf-8")).pins.items()
        if pin.startswith("pydantic_core==")
    ]

    assert len(core) == 2


def test_locked_requirements_are_fresh(project: Path) -> None:
    assert list(requirements.stale(project)) == []


def test_dependency_changed_in_the_project_only_is_stale(project: Path) -> None:
    changed = PROJECT.replace("pydantic>=2", "pydantic>=3")
    (project / "pyproject.toml").write_text(changed, encoding="utf-8")

    assert list(requirements.stale(project)) == [project / "handlers" / "requirements.txt"]


def test_missing_lock_is_stale(project: Path) -> None:
    layer = project / "infra" / "layers" / "pdf" / "requirements.txt"
    layer.unlink()

    assert list(requirements.stale(project)) == [layer]


@pytest.mark.parametrize(
    "weaken",
    [
        pytest.param(lambda content: content + "unpinned>=1\n", id="a-range"),
        pytest.param(lambda content: content + "unhashed==1\n", id="a-version-without-a-hash"),
        pytest.param(lambda content: content.replace(ARM, ARM[:-1]), id="a-hash-cut-short"),
        pytest.param(lambda content: content.replace("fpdf2==2.0", "fpdf3==2.0"), id="a-package-less"),
    ],
)
def test_lock_with_a_hole_is_stale(project: Path, weaken: Callable[[str], str]) -> None:
    layer = project / "infra" / "layers" / "pdf" / "requirements.txt"
    layer.write_text(weaken(layer.read_text(encoding="utf-8")), encoding="utf-8")

    assert list(requirements.stale(project)) == [layer]


def test_what_is_written_is_read() -> None:
    written = lock("pydantic>=2,<3", "b")

    assert read(text(written)) == written


def test_wheels_of_two_machines_are_one_lock() -> None:
    pins = merged([{"core==1": ARM, "pure==1": PURE}, {"core==1": INTEL, "pure==1": PURE}])

    assert pins == {"core==1": [ARM, INTEL], "pure==1": [PURE]}
