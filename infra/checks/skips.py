"""What the scanners find and we leave as it is: each named, with its reason, in skips.yaml."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

import yaml

from infra.checks.scanners import Report

PATH = Path(__file__).with_name("skips.yaml")


@dataclass(frozen=True, slots=True)
class Skip:
    """A rule of a scanner that does not hold for resources whose logical ids fit a pattern, and why."""

    tool: str
    rule: str
    resources: str
    reason: str

    def covers(self, report: Report) -> bool:
        return (self.tool, self.rule) == (report.tool, report.rule) and self.is_for(report.resource)

    def is_for(self, name: str) -> bool:
        return any(fnmatchcase(name, each) for each in self.resources.split())


def skips() -> list[Skip]:
    return [Skip(**entry) for entry in yaml.safe_load(PATH.read_text(encoding="utf-8"))]


def unskipped(reports: Iterable[Report], skips: Sequence[Skip]) -> list[Report]:
    return [report for report in reports if not any(skip.covers(report) for skip in skips)]


def needless(reports: Sequence[Report], skips: Sequence[Skip], names: Iterable[str]) -> list[Skip]:
    """Skips for what is in the template (`names`) and has no need of them: what they excused is mended."""
    present = [skip for skip in skips if any(map(skip.is_for, names))]
    return [skip for skip in present if not any(map(skip.covers, reports))]
