"""All that adopting changes, worked out before anything is touched, and then done."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from infra import dashboard
from infra.adopt import template as templates
from infra.adopt import texts
from infra.adopt.example import Example

REQUEST = Path("docs/request.json")


@dataclass(frozen=True)
class Plan:
    """Files to delete and files to write, relative to `root`."""

    root: Path
    deleted: Sequence[Path]
    written: Mapping[Path, str]
    reasons: Mapping[Path, str]
    """Why each module goes."""

    def carry_out(self) -> None:
        for path in self.deleted:
            (self.root / path).unlink()
        for folder in {parent for path in self.deleted for parent in path.parents}:
            _remove_if_empty(self.root / folder)
        for path, text in self.written.items():
            (self.root / path).write_text(text, encoding="utf-8")


def plan(example: Example, name: str) -> Plan:
    """What has to change so that nothing but the engine is left, under this name."""
    root = example.root
    template = dashboard.written(templates.without(example.template, example.resources))
    deleted = [*example.files(), *_request(root, template)]
    reasons = {example.all[module].path.relative_to(root): why for module, why in example.modules.items()}
    written = dict(_written(example, template, name))
    return Plan(root, sorted(deleted), written, reasons)


def _written(example: Example, template: str, name: str) -> Iterator[tuple[Path, str]]:
    def read(path: str) -> str:
        return (example.root / path).read_text(encoding="utf-8")

    layers = {path.parts[2] for path in example.files() if path.parts[:2] == ("infra", "layers")}
    makefile, targets = texts.makefile(read("Makefile"), example.modules)
    yield Path("template.yaml"), texts.template_title(template, name)
    yield Path("pyproject.toml"), texts.pyproject(read("pyproject.toml"), name, layers)
    yield Path("samconfig.toml"), texts.samconfig(read("samconfig.toml"), name, example.resources)
    yield Path("Makefile"), makefile
    yield Path(".ci/run"), texts.ci(read(".ci/run"), targets)
    runbook = texts.runbook(read("docs/runbook.md"), name, template, example.resources)
    yield Path("docs/runbook.md"), runbook
    yield Path("README.md"), texts.README.format(title=name.replace("-", " ").capitalize())
    yield Path("CHANGELOG.md"), texts.CHANGELOG


def _request(root: Path, template: str) -> Iterator[Path]:
    """The request that `make up` shows, when it leads nowhere any more."""
    path = root / REQUEST
    if path.is_file() and f"Path: {json.loads(path.read_text(encoding='utf-8'))['path']}" not in template:
        yield REQUEST


def _remove_if_empty(folder: Path) -> None:
    if not folder.is_dir() or any(path.suffix != ".pyc" for path in folder.rglob("*") if path.is_file()):
        return
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    folder.rmdir()
