"""All weakened templates, from whichever modules of this package there are."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from infra.checks import mutants
from infra.checks.mutants.changes import GRANTED_IS_USED, Mutant
from infra.checks.scanners import TOOLS


@dataclass(frozen=True, slots=True)
class Known:
    """The mutants by the kind of check that has to catch them."""

    of_rules: Sequence[Mutant]
    of_grants: Sequence[Mutant]
    of_scanners: Sequence[Mutant]

    def __len__(self) -> int:
        return len(self.of_rules) + len(self.of_grants) + len(self.of_scanners)


def known() -> Known:
    names = [module.name for module in pkgutil.iter_modules(mutants.__path__, f"{mutants.__name__}.")]
    found = [each for name in names for each in getattr(importlib.import_module(name), "MUTANTS", ())]
    return Known(
        _those(found, lambda rule: rule != GRANTED_IS_USED and not _of_scanner(rule)),
        _those(found, lambda rule: rule == GRANTED_IS_USED),
        _those(found, _of_scanner),
    )


def _those(found: Sequence[Mutant], wanted: Callable[[str], bool]) -> Sequence[Mutant]:
    return [mutant for mutant in found if wanted(mutant.rule)]


def _of_scanner(rule: str) -> bool:
    tool, _, name = rule.partition(" ")
    return tool in TOOLS and bool(name)
