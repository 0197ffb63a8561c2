"""General linters on expanded templates, offline: cfn-lint, checkov and cfripper, each once for all files.

On the expanded file: what SAM makes (roles, permissions, log groups) is not in the other.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

CFN_LINT, CHECKOV, CFRIPPER = TOOLS = ("cfn-lint", "checkov", "cfripper")


class ScannerFailed(Exception):
    """A scanner that could not look at a template, which is not to be taken for one that found nothing."""


@dataclass(frozen=True, slots=True)
class Report:
    """One finding of a scanner, on a resource of one file."""

    file: Path
    tool: str
    rule: str
    resource: str
    problem: str


def scan(scanners: Path, files: Mapping[str, Sequence[Path]]) -> list[Report]:
    """Run each of the tools named in `files` on its own ones; `scanners` is where checkov and cfripper are.

    Raises `ScannerFailed`.
    """
    runs: Mapping[str, Callable[[Sequence[Path]], Iterator[Report]]] = {
        CFN_LINT: partial(_cfn_lint, Path(sys.executable).with_name(CFN_LINT)),
        CHECKOV: partial(_checkov, scanners / CHECKOV),
        CFRIPPER: partial(_cfripper, scanners / CFRIPPER),
    }
    with ThreadPoolExecutor() as pool:
        found = pool.map(lambda tool: list(runs[tool](files[tool])), files)
        return [report for reports in found for report in reports]


def _cfn_lint(program: Path, files: Sequence[Path]) -> Iterator[Report]:
    """Its exit code is a bit mask of what it found: github.com/aws-cloudformation/cfn-lint, "Exit codes"."""
    output = _run([program, "--include-checks", "I", "--format", "json", "--", *files], range(16))
    for found in json.loads(output):
        path = found["Location"]["Path"] or ["", ""]
        resource = str(path[1]) if path[0] == "Resources" else "/".join(map(str, path))
        yield Report(Path(found["Filename"]), CFN_LINT, found["Rule"]["Id"], resource, found["Message"])


def _checkov(program: Path, files: Sequence[Path]) -> Iterator[Report]:
    """Without `--skip-download` it asks its maker's servers for policies."""
    flags = ("--framework", "cloudformation", "--skip-download", "--quiet", "--compact", "--output", "json")
    named = [part for file in files for part in ("--file", file)]
    answer = json.loads(_run([program, *flags, *named], (0, 1)))
    if not answer.get("summary", {}).get("resource_count") or answer["summary"]["parsing_errors"]:
        raise ScannerFailed(f"{CHECKOV} could not read every template: {answer.get('summary', answer)}")
    for found in answer["results"]["failed_checks"]:
        resource = str(found["resource"]).rpartition(".")[2]
        yield Report(Path(found["file_abs_path"]), CHECKOV, found["check_id"], resource, found["check_name"])


def _cfripper(program: Path, files: Sequence[Path]) -> Iterator[Report]:
    """It prints one JSON document after the other, in the order of the files."""
    rest = _run([program, "--resolve", "--format", "json", "--logging", "ERROR", *files], (0, 2)).strip()
    for file in files:
        answer, end = json.JSONDecoder().raw_decode(rest)
        rest = rest[end:].lstrip()
        if answer["exceptions"]:
            raise ScannerFailed(f"{CFRIPPER} could not read {file}: {answer['exceptions']}")
        for found in answer["failures"]:
            for resource in found["resource_ids"]:
                yield Report(file, CFRIPPER, found["rule"], resource, found["reason"])


def _run(command: Sequence[Any], expected: Sequence[int]) -> str:
    words = [str(part) for part in command]
    run = subprocess.run(words, capture_output=True, text=True, check=False)  # noqa: S603 - of our own words
    if run.returncode not in expected:
        raise ScannerFailed(f"{command[0]} ended with {run.returncode}: {run.stderr or run.stdout}")
    return run.stdout
