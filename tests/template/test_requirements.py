"""What `sam build` installs is what pyproject.toml says is deployed."""

from pathlib import Path

from infra import requirements

PROJECT = """
[project]
dependencies = ["pydantic>=2", "b"]
[project.optional-dependencies]
pdf = ["fpdf2>=2"]
"""


def project(root: Path) -> Path:
    (root / "pyproject.toml").write_text(PROJECT, encoding="utf-8")
    for path, text in requirements.exports(root).items():
        path.parent.mkdir(parents=True)
        path.write_text(text, encoding="utf-8")
    return root


def test_shipped_requirements_are_fresh() -> None:
    assert list(requirements.stale()) == []


def test_exported_requirements_are_fresh(tmp_path: Path) -> None:
    assert list(requirements.stale(project(tmp_path))) == []


def test_dependency_changed_in_the_project_only_is_stale(tmp_path: Path) -> None:
    root = project(tmp_path)
    (root / "pyproject.toml").write_text(PROJECT.replace("pydantic>=2", "pydantic>=3"), encoding="utf-8")

    assert list(requirements.stale(root)) == [root / "handlers" / "requirements.txt"]


def test_missing_export_is_stale(tmp_path: Path) -> None:
    root = project(tmp_path)
    layer = root / "infra" / "layers" / "pdf" / "requirements.txt"
    layer.unlink()

    assert list(requirements.stale(root)) == [layer]
