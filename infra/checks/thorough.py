"""Scan the expanded template, compare what is granted with what is used, and weaken it to see it caught."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import logging
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from infra import checks
from infra.checks.grants import Grant, differences
from infra.checks.mutants import hunt
from infra.checks.mutants.changes import Mutant
from infra.checks.mutants.known import Known, known
from infra.checks.scanners import CFN_LINT, TOOLS, Report, scan
from infra.checks.skips import needless, skips, unskipped
from infra.checks.template import SHIPPED, Template
from infra.expand import expand

DAY = f"{checks.__name__}.day"
"""The module with the day on which every function makes every call: it knows the business, if any."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What was found in the template and its mutants, and what its functions asked for, if that was seen."""

    template: Template
    names: Sequence[str]
    reports: Sequence[Report]
    used: Mapping[str, set[Grant]] | None

    @classmethod
    def of(cls, path: Path, scanners: Path, mutants: Sequence[Mutant]) -> Seen:
        """Scan while the day is lived through: each takes a core."""
        document = expand(path)
        template = Template.of(document)
        names = [*template.resources, *(f"Parameters/{name}" for name in document["Parameters"])]
        with TemporaryDirectory() as folder, ThreadPoolExecutor() as pool:
            files = hunt.write(document, mutants, Path(folder).resolve())
            files[CFN_LINT].append(path)  # as it is written, too: what SAM takes, cfn-lint knows
            reports: Future[list[Report]] = pool.submit(scan, scanners, files)
            used = _used(path, template)
            return cls(template, names, reports.result(), used)

    def missed(self, mutants: Known) -> list[Mutant]:
        """The weakened templates that no check has caught."""
        used = self.used or {}
        return [
            *hunt.missed_by_rules(self.template, mutants.of_rules),
            *hunt.missed_by_grants(self.template, used, mutants.of_grants),
            *hunt.missed_by_scanners(unskipped(self.reports, skips()), mutants.of_scanners),
        ]


def problems(seen: Seen, mutants: Known) -> Iterator[str]:
    """Tell how each of the three went; what is yielded is wrong."""
    yield from _of_scanners(seen)
    yield from _of_roles(seen)
    yield from _of_mutants(seen, mutants)


def _of_scanners(seen: Seen) -> Iterator[str]:
    shipped = [report for report in seen.reports if report.file.name in (hunt.SHIPPED, SHIPPED.name)]
    found = unskipped(shipped, skips())
    yield from (f"{each.resource}: {each.problem} [{each.tool} {each.rule}]" for each in found)
    for skip in needless(shipped, skips(), seen.names):
        yield f"skips.yaml: nothing has need of {skip.tool} {skip.rule} on {skip.resources}"
    print(f"{', '.join(TOOLS)}: {len(found)} findings, and {len(skips())} skips with their reasons")


def _of_roles(seen: Seen) -> Iterator[str]:
    if seen.used is None:
        print(f"roles granted = used: not compared, for there is no {DAY}")
        return
    roles = differences(seen.template, seen.used)
    yield from (f"{function}: its role {each}" for function, wrong in roles.items() for each in wrong)
    print(f"roles granted = used {sum(not wrong for wrong in roles.values())}/{len(roles)}")


def _of_mutants(seen: Seen, mutants: Known) -> Iterator[str]:
    missed = seen.missed(mutants)
    yield from (f"{mutant.name}: {mutant.rule} did not catch it" for mutant in missed)
    print(f"mutants caught {len(mutants) - len(missed)}/{len(mutants)}")


def _used(path: Path, template: Template) -> Mapping[str, set[Grant]] | None:
    if importlib.util.find_spec(DAY) is None:
        return None
    used: Mapping[str, set[Grant]] = importlib.import_module(DAY).used(path, template)
    return used


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m infra.checks.thorough", description=__doc__)
    parser.add_argument("scanners", type=Path, help="folder of the programs checkov and cfripper")
    logging.disable()  # of the day, on which a lot goes wrong
    mutants = known()
    seen = Seen.of(SHIPPED, parser.parse_args().scanners, mutants.of_scanners)
    wrong = list(problems(seen, mutants))
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
