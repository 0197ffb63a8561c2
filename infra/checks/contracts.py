"""An import contract by name pattern, so that a new module falls under it without being listed."""

from __future__ import annotations

import re
from typing import Any

import grimp
from importlinter import Contract, ContractCheck, fields, output


class PatternContract(Contract):
    """No module that matches `importers` imports a module that matches `forbidden` (regular expressions).

    import-linter's own contracts name modules one by one, or all children of a package; they cannot say
    "every `queue_*` module" or "the package but for one of its parts".
    """

    importers = fields.StringField()
    forbidden = fields.StringField()

    def check(self, graph: grimp.ImportGraph, verbose: bool) -> ContractCheck:  # noqa: ARG002
        importers = _matching(graph, str(self.importers))
        imports = sorted(
            (importer, imported)
            for imported in _matching(graph, str(self.forbidden))
            for importer in graph.find_modules_that_directly_import(imported) & importers
        )
        return ContractCheck(kept=not imports, metadata={"imports": [_described(graph, *i) for i in imports]})

    def render_broken_contract(self, check: ContractCheck) -> None:
        for line in check.metadata["imports"]:
            output.print_error(line)


def _matching(graph: grimp.ImportGraph, pattern: str) -> set[str]:
    wanted = re.compile(pattern)
    return {module for module in graph.modules if wanted.fullmatch(module)}


def _described(graph: grimp.ImportGraph, importer: str, imported: str) -> str:
    details: list[Any] = list(graph.get_import_details(importer=importer, imported=imported))
    return f"{importer} imports {imported} (line {', '.join(str(d['line_number']) for d in details)})"
