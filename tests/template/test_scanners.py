"""What general linters find is told unless skipped; a weakened template that nothing catches is missed."""

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from infra.checks.mutants import scanned
from infra.checks.mutants.changes import Mutant, put
from infra.checks.mutants.hunt import SHIPPED, missed_by_grants, missed_by_rules, missed_by_scanners, write
from infra.checks.mutants.known import Known
from infra.checks.scanners import CFN_LINT, CFRIPPER, CHECKOV, Report, ScannerFailed, scan
from infra.checks.skips import Skip, needless, skips, unskipped
from infra.checks.template import Template
from infra.checks.thorough import Seen, problems
from infra.expand import expand
from tests.template.conftest import ROOT

FILE = Path("/template.json")
FOUND = Report(FILE, CHECKOV, "CKV_1", "LoyaltyQueue", "is in the clear")
HARMLESS = Mutant("harmless", "queue_is_encrypted", put("LoyaltyQueue", "VisibilityTimeout", 600))

Program = Callable[[str, Any, int], Path]


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """Make a program that prints an answer, and ends with an exit code; return its folder."""

    def make(name: str, answer: Any, code: int) -> Path:
        (tmp_path / f"{name}.out").write_text(answer if isinstance(answer, str) else json.dumps(answer))
        file = tmp_path / name
        file.write_text(f'#!/bin/sh\ncat "{tmp_path / name}.out"\nexit {code}\n')
        file.chmod(0o755)
        return tmp_path

    return make


def checkov_answer(**changes: Any) -> dict[str, Any]:
    failed = {
        "check_id": "CKV_1",
        "check_name": "is in the clear",
        "resource": "AWS::SQS::Queue.LoyaltyQueue",
        "file_abs_path": str(FILE),
    }
    summary = {"resource_count": 1, "parsing_errors": 0, **changes}
    return {"summary": summary, "results": {"failed_checks": [failed]}}


def test_what_checkov_finds_is_reported(program: Program) -> None:
    folder = program(CHECKOV, checkov_answer(), 1)

    assert scan(folder, {CHECKOV: [FILE]}) == [FOUND]


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        pytest.param(checkov_answer(), 2, id="it-crashed"),
        pytest.param(checkov_answer(parsing_errors=1), 1, id="it-could-not-parse"),
        pytest.param(checkov_answer(resource_count=0), 0, id="it-saw-nothing"),
        pytest.param({"passed": 0}, 0, id="it-ran-nothing"),
    ],
)
def test_checkov_that_did_not_look_is_no_clean_bill(program: Program, answer: Any, code: int) -> None:
    folder = program(CHECKOV, answer, code)

    with pytest.raises(ScannerFailed):
        scan(folder, {CHECKOV: [FILE]})


def test_each_file_that_cfripper_was_given_has_its_own_findings(program: Program) -> None:
    failure = {"rule": "R", "reason": "is public", "resource_ids": ["Bucket"]}
    clean: dict[str, Any] = {"exceptions": [], "failures": []}
    found = {"exceptions": [], "failures": [failure]}
    folder = program(CFRIPPER, f"{json.dumps(clean)}\n{json.dumps(found)}\n", 2)
    second = Path("/second.json")

    reports = scan(folder, {CFRIPPER: [FILE, second]})

    assert reports == [Report(second, CFRIPPER, "R", "Bucket", "is public")]


def test_cfripper_that_could_not_apply_a_rule_is_no_clean_bill(program: Program) -> None:
    folder = program(CFRIPPER, {"exceptions": ["boom"], "failures": []}, 0)

    with pytest.raises(ScannerFailed, match="boom"):
        scan(folder, {CFRIPPER: [FILE]})


def test_what_cfn_lint_informs_of_is_reported(tmp_path: Path) -> None:
    file = tmp_path / "t.json"
    queue = {"Type": "AWS::SQS::Queue", "Properties": {}}
    file.write_text(json.dumps({"Resources": {"Queue": queue}}))

    rules = {(report.rule, report.resource) for report in scan(tmp_path, {CFN_LINT: [file]})}

    assert ("I3011", "Queue") in rules


@pytest.mark.parametrize(
    ("skip", "covers"),
    [
        (Skip(CHECKOV, "CKV_1", "*Topic *Queue", "why"), True),
        (Skip(CHECKOV, "CKV_1", "*Topic", "why"), False),
        (Skip(CHECKOV, "CKV_2", "*Queue", "why"), False),
        (Skip(CFRIPPER, "CKV_1", "*Queue", "why"), False),
    ],
)
def test_skip_is_for_one_rule_of_one_tool_on_named_resources(skip: Skip, covers: bool) -> None:
    assert unskipped([FOUND], [skip]) == ([] if covers else [FOUND])
    assert needless([FOUND], [skip], ["OtherQueue", "Topic"]) == ([] if covers else [skip])


def test_skip_for_what_the_template_lacks_is_not_called_needless() -> None:
    assert needless([], [Skip(CHECKOV, "CKV_1", "*Queue", "why")], ["Topic"]) == []


def test_every_skip_gives_its_reason() -> None:
    assert [skip for skip in skips() if len(skip.reason.split()) < 15] == []


def test_weakened_template_that_no_check_catches_is_missed(shipped: Template) -> None:
    nothing_used = dict[str, set[tuple[str, str]]]()

    assert list(missed_by_rules(shipped, [HARMLESS])) == [HARMLESS]
    assert list(missed_by_scanners([FOUND], scanned.MUTANTS)) == scanned.MUTANTS
    assert list(missed_by_grants(Template({}), nothing_used, [Mutant("none", "", lambda _: None)])) != []


def test_scanners_are_given_what_a_change_touches_and_what_that_refers_to(tmp_path: Path) -> None:
    changed = Mutant("changed", f"{CFN_LINT} E1", put("LoyaltyQueue", "DelaySeconds", 1))

    files = write(expand(ROOT / "template.yaml"), [changed], tmp_path)

    assert [file.name for file in files[CFN_LINT]] == [SHIPPED, "changed.json"]
    assert [file.name for file in files[CHECKOV]] == [SHIPPED]
    resources = json.loads((tmp_path / "changed.json").read_text())["Resources"]
    assert set(resources) == {"LoyaltyQueue", "LoyaltyDeadLetterQueue"}
    assert resources["LoyaltyQueue"]["Properties"]["DelaySeconds"] == 1


def test_what_is_wrong_is_told_and_counted(shipped: Template, capsys: pytest.CaptureFixture[str]) -> None:
    found = dataclasses.replace(FOUND, file=Path(SHIPPED))
    seen = Seen(shipped, list(shipped.resources), [found], used={})

    wrong = list(problems(seen, Known([HARMLESS], [], [])))

    assert "LoyaltyQueue: is in the clear [checkov CKV_1]" in wrong
    assert "skips.yaml: nothing has need of checkov CKV_AWS_18 on InvoiceBucket" in wrong
    assert "LoyaltyFunction: its role has dynamodb:PutItem on ShopTable for nothing" in wrong
    assert "harmless: queue_is_encrypted did not catch it" in wrong
    printed = capsys.readouterr().out
    assert "cfn-lint, checkov, cfripper: 1 findings" in printed
    assert f"roles granted = used 0/{len(list(shipped.functions()))}" in printed
    assert "mutants caught 0/1" in printed
