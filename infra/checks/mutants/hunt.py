"""Whether each weakened template is caught, by the kind of check that has to."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from infra.checks.grants import Grant, differences
from infra.checks.mutants.changes import Mutant, changed, weakened
from infra.checks.rules import is_broken
from infra.checks.scanners import TOOLS, Report
from infra.checks.template import Template, reached

Document = Mapping[str, Any]
SHIPPED = "template.json"


def missed_by_rules(template: Template, mutants: Sequence[Mutant]) -> Iterator[Mutant]:
    for mutant in mutants:
        if not is_broken(mutant.rule, weakened(template, mutant.change)):
            yield mutant


def missed_by_grants(
    template: Template, used: Mapping[str, set[Grant]], mutants: Sequence[Mutant]
) -> Iterator[Mutant]:
    for mutant in mutants:
        if not any(differences(weakened(template, mutant.change), used).values()):
            yield mutant


def missed_by_scanners(reports: Sequence[Report], mutants: Sequence[Mutant]) -> Iterator[Mutant]:
    """`reports` are what is not skipped of the scan of what `write` wrote."""
    caught = {(report.file.stem, f"{report.tool} {report.rule}") for report in reports}
    for mutant in mutants:
        if (mutant.name, mutant.rule) not in caught:
            yield mutant


def write(document: Document, mutants: Sequence[Mutant], folder: Path) -> dict[str, list[Path]]:
    """Write the template and, for the tool that has to catch it, each weakened one.

    These are cut down to what the change touches and all that this refers to: the scanners judge resource by
    resource, and twenty whole templates would take them minutes.
    """
    shipped = _write(folder / SHIPPED, document)
    files = {tool: [shipped] for tool in TOOLS}
    for mutant in mutants:
        tool, _, _ = mutant.rule.partition(" ")
        files[tool].append(_write(folder / f"{mutant.name}.json", _touched(document, mutant)))
    return files


def _write(path: Path, document: Document) -> Path:
    path.write_text(json.dumps(document, indent=1), encoding="utf-8")
    return path


def _touched(document: Document, mutant: Mutant) -> Document:
    before = document["Resources"]
    after = changed(before, mutant.change)
    kept = reached(after, {name for name, resource in after.items() if resource != before.get(name)})
    resources = {name: resource for name, resource in after.items() if name in kept}
    return {**document, "Resources": resources, "Outputs": {}}
