"""The documents as files: what they should hold, and which do not."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from infra import events
from infra.checks.template import Template
from infra.contracts import asyncapi, openapi, routes

OPENAPI, ASYNCAPI = Path("docs/openapi.yaml"), Path("docs/asyncapi.yaml")
_WIDTH = 110


class _Dumper(yaml.SafeDumper):
    """Writes out what is repeated: a reader should not have to look up an anchor."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - PyYAML's signature
        return True


def documents(template: Template) -> dict[Path, dict[str, Any]]:
    """Both documents, by their files."""
    version = _version()
    types = {each.name: each for each in events.event_types()}
    return {
        OPENAPI: openapi.document(list(routes.operations(template).values()), version),
        ASYNCAPI: asyncapi.document(template, types, version),
    }


def text_of(document: Mapping[str, Any]) -> str:
    text: str = yaml.dump(dict(document), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=_WIDTH)
    return text


def problems(template: Template, root: Path = events.ROOT) -> Iterator[str]:
    """Routes that tell nothing of themselves, and files that are not what the code says."""
    yield from routes.problems(template)
    for path, document in documents(template).items():
        written = (root / path).read_text(encoding="utf-8") if (root / path).exists() else ""
        if written != text_of(document):
            yield f"{path}: differs from the code: make contracts"


def write(template: Template, root: Path = events.ROOT) -> list[Path]:
    """Write both documents; returns which of them have changed."""
    changed = []
    for path, document in documents(template).items():
        text = text_of(document)
        if not (root / path).exists() or (root / path).read_text(encoding="utf-8") != text:
            (root / path).write_text(text, encoding="utf-8")
            changed.append(path)
    return changed


def _version() -> str:
    project = tomllib.loads((events.ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return str(project["version"])
