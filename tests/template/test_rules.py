"""The shipped template keeps every house rule, and each way to weaken it is caught by its rule."""

import dataclasses
from typing import Any

import pytest

from infra.checks.mutants.changes import Mutant, Resources, add, put, weakened
from infra.checks.mutants.weakenings import MUTANTS
from infra.checks.rules import RULES, findings
from infra.checks.template import Template
from infra.expand import parse, transform
from tests.template.conftest import ROOT


def test_shipped_template_keeps_every_rule(shipped: Template) -> None:
    assert list(findings(shipped)) == []


@pytest.fixture
def published(shipped: Template) -> Template:
    """The shipped template with two more lines in its globals: a version and an alias for each function."""
    source = parse((ROOT / "template.yaml").read_text(encoding="utf-8"))
    source["Globals"]["Function"] |= {
        "AutoPublishAlias": "live",
        "SnapStart": {"ApplyOn": "PublishedVersions"},
    }
    resources = transform(source)["Resources"]
    return Template(resources, shipped.jobs)


def test_template_with_snapshots_and_aliases_keeps_every_rule(published: Template) -> None:
    assert list(findings(published)) == []


@pytest.mark.parametrize("mutant", [pytest.param(mutant, id=mutant.name) for mutant in MUTANTS])
def test_weakened_template_is_caught_by_its_rule(shipped: Template, mutant: Mutant) -> None:
    broken = {name for name, _ in findings(weakened(shipped, mutant.change))}

    assert mutant.rule in broken


def test_every_rule_has_caught_something() -> None:
    assert {mutant.rule for mutant in MUTANTS} == {rule.__name__ for rule in RULES}


def test_attempts_raised_in_code_without_the_template_are_caught(shipped: Template) -> None:
    receipts = shipped.jobs["ReceiptsFunction"]
    longer = dataclasses.replace(receipts.retry, attempts=41)
    jobs = {**shipped.jobs, "ReceiptsFunction": dataclasses.replace(receipts, retry=longer)}

    broken = {rule: found.resource for rule, found in findings(Template(shipped.resources, jobs))}

    assert broken == {"receive_count_leaves_headroom": "ReceiptsQueue"}


@pytest.mark.parametrize(
    ("actions", "condition", "kept"),
    [
        pytest.param(
            ["kms:GenerateDataKey*", "kms:Decrypt"], {"ArnEquals": {"aws:SourceArn": "x"}}, True, id="ours"
        ),
        pytest.param(["kms:Decrypt"], {"ArnEquals": {"aws:SourceArn": "x"}}, False, id="SNS-3-no-data-key"),
        pytest.param(["kms:GenerateDataKey", "kms:Decrypt"], {}, False, id="SNS-3-any-topic"),
    ],
)
def test_own_key_must_let_the_topic_write(
    shipped: Template, actions: list[str], condition: dict[str, Any], kept: bool
) -> None:
    statement = {
        "Effect": "Allow",
        "Principal": {"Service": "sns.amazonaws.com"},
        "Action": actions,
        "Condition": condition,
    }

    def change(resources: Resources) -> None:
        add("Key", "AWS::KMS::Key", {"KeyPolicy": {"Statement": [statement]}})(resources)
        put("LoyaltyQueue", "KmsMasterKeyId", {"Ref": "Key"})(resources)

    broken = {rule for rule, _ in findings(weakened(shipped, change))}

    assert broken == (set() if kept else {"encryption_lets_the_topic_write"})
