"""Scan the expanded template, compare what is granted with what is used, and weaken it to see it caught."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from infra.checks.day import used
from infra.checks.grants import Grant, differences
from infra.checks.mutants import defences, grants, hunt, scanned, watched, weakenings
from infra.checks.mutants.changes import Mutant
from infra.checks.scanners import TOOLS, Report, scan
from infra.checks.skips import needless, skips, unskipped
from infra.checks.template import SHIPPED, Template
from infra.expand import expand

OF_RULES = (*weakenings.MUTANTS, *defences.MUTANTS, *watched.MUTANTS)


@dataclass(frozen=True, slots=True)
class Seen:
    """The template, what its functions asked for on a day, and what was found in it and its mutants."""

    template: Template
    used: dict[str, set[Grant]]
    reports: Sequence[Report]

    @classmethod
    def of(cls, path: Path, scanners: Path) -> Seen:
        """Scan while the day is lived through: each takes a core."""
        document = expand(path)
        template = Template.of(document)
        with TemporaryDirectory() as folder, ThreadPoolExecutor() as pool:
            files = hunt.write(document, scanned.MUTANTS, Path(folder).resolve())
            reports: Future[list[Report]] = pool.submit(scan, scanners, files)
            return cls(template, used(path, template), reports.result())

    def scanners_say(self) -> Iterator[str]:
        """What they find in the template itself, and which skip is not needed."""
        shipped = [report for report in self.reports if report.file.name == hunt.SHIPPED]
        for report in unskipped(shipped, skips()):
            yield f"{report.resource}: {report.problem} [{report.tool} {report.rule}]"
        for skip in needless(shipped, skips()):
            yield f"skips.yaml: nothing has need of {skip.tool} {skip.rule} on {skip.resources}"

    def missed(self) -> list[Mutant]:
        """The weakened templates that no check has caught."""
        return [
            *hunt.missed_by_rules(self.template, OF_RULES),
            *hunt.missed_by_grants(self.template, self.used, grants.MUTANTS),
            *hunt.missed_by_scanners(unskipped(self.reports, skips()), scanned.MUTANTS),
        ]


def problems(seen: Seen) -> Iterator[str]:
    """Tell how each of the three went; what is yielded is wrong."""
    found = list(seen.scanners_say())
    yield from found
    if not found:
        print(f"{', '.join(TOOLS)}: nothing but {len(skips())} skips, each with its reason in skips.yaml")

    roles = differences(seen.template, seen.used)
    yield from (f"{function}: its role {each}" for function, wrong in roles.items() for each in wrong)
    print(f"roles granted = used {sum(not wrong for wrong in roles.values())}/{len(roles)}")

    mutants = len(OF_RULES) + len(grants.MUTANTS) + len(scanned.MUTANTS)
    missed = seen.missed()
    yield from (f"{mutant.name}: {mutant.rule} did not catch it" for mutant in missed)
    print(f"mutants caught {mutants - len(missed)}/{mutants}")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m infra.checks.thorough", description=__doc__)
    parser.add_argument("scanners", type=Path, help="folder of the programs checkov and cfripper")
    logging.disable()  # of the day, on which a lot goes wrong
    wrong = list(problems(Seen.of(SHIPPED, parser.parse_args().scanners)))
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
