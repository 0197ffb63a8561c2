"""`python -m infra.adopt`: it deletes nothing that could not be had back, and nothing unasked."""

import io
import subprocess
from pathlib import Path

import pytest

from infra.adopt.__main__ import main
from infra.adopt.plan import Plan

TEMPLATE = "Description: A shop\n\nResources:\n  Orders:\n    Handler: handlers.api_orders.handler\n"
GIT = ("git", "-c", "user.name=Ada", "-c", "user.email=ada@example.com")


def git(root: Path, *arguments: str) -> None:
    subprocess.run([*GIT, *arguments], cwd=root, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A small repository with an example in it."""
    files = {
        "handlers/shop/orders.py": "",
        "handlers/api_orders.py": "from .shop import orders\n",
        "handlers/api_jobs.py": "",
        "template.yaml": TEMPLATE,
        "pyproject.toml": 'name = "postroom"\n',
        "samconfig.toml": "",
        "Makefile": "",
        ".ci/run": "",
        "docs/runbook.md": "# Runbook\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", "--all")
    git(tmp_path, "commit", "--quiet", "--message", "A clone")
    return tmp_path


def files(root: Path) -> dict[str, str]:
    found = (path for path in root.rglob("*") if path.is_file() and ".git" not in path.parts)
    return {str(path.relative_to(root)): path.read_text(encoding="utf-8") for path in found}


def test_dry_run_tells_each_file_with_its_reason_and_changes_nothing(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = files(repository)

    code = main(["parcels", "--dry-run"], repository)

    told = capsys.readouterr().out
    assert code == 0
    assert "delete handlers/api_orders.py  (imports handlers.shop" in told
    assert "2 files go" in told
    assert files(repository) == before


def test_without_a_yes_nothing_is_changed(
    repository: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = files(repository)
    monkeypatch.setattr("sys.stdin", io.StringIO("\n"))

    code = main(["parcels"], repository)

    assert code == 1
    assert "Called off" in capsys.readouterr().out
    assert files(repository) == before


def test_a_tree_with_changes_is_refused(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (repository / "handlers/api_jobs.py").write_text("changed = True\n", encoding="utf-8")

    code = main(["parcels", "--yes"], repository)

    assert code == 1
    assert "not committed" in capsys.readouterr().err
    assert (repository / "handlers/api_orders.py").is_file()


def test_a_directory_without_git_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["parcels", "--yes"], tmp_path) == 1
    assert "no git repository" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["", "Parcels", "two words", "-parcels", "parcels_", "p" * 25])
def test_what_no_stack_can_be_called_is_refused(
    repository: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--yes", "--", name], repository) == 1
    assert "is no name" in capsys.readouterr().err


def test_what_goes_leaves_no_empty_directory(tmp_path: Path) -> None:
    (tmp_path / "shop" / "deep").mkdir(parents=True)
    (tmp_path / "shop" / "deep" / "orders.py").touch()
    (tmp_path / "kept.py").touch()
    wanted = Plan(tmp_path, [Path("shop/deep/orders.py")], {Path("kept.py"): "now\n"}, {})

    wanted.carry_out()

    assert files(tmp_path) == {"kept.py": "now\n"}
    assert not (tmp_path / "shop").exists()
