"""Each way to weaken the shipped template is caught by the rule that it breaks."""

import dataclasses
from typing import Any

import pytest

from infra.checks.mutants.changes import Mutant, Resources, add, put, weakened
from infra.checks.mutants.known import known
from infra.checks.rules import RULES, findings, is_broken
from infra.checks.template import Template

MUTANTS = known().of_rules
OF_CODE = {"attributes_fit_raw_delivery"}
"""Rules that only a change of the code can break."""


@pytest.mark.parametrize("mutant", [pytest.param(mutant, id=mutant.name) for mutant in MUTANTS])
def test_weakened_template_is_caught_by_its_rule(shipped: Template, mutant: Mutant) -> None:
    assert is_broken(mutant.rule, weakened(shipped, mutant.change))


def test_every_rule_has_caught_something() -> None:
    assert {mutant.rule for mutant in MUTANTS} | OF_CODE == {rule.__name__ for rule in RULES}


def test_every_way_to_weaken_the_template_is_another() -> None:
    mutants = known()
    names = [mutant.name for mutant in (*mutants.of_rules, *mutants.of_grants, *mutants.of_scanners)]

    assert len(set(names)) == len(names) >= 45


def test_eleventh_attribute_is_caught(shipped: Template) -> None:
    eleven = frozenset(f"attribute-{number}" for number in range(11))

    broken = {rule for rule, _ in findings(dataclasses.replace(shipped, attributes=eleven | {"type"}))}

    assert broken == {"attributes_fit_raw_delivery"}


def test_shorter_memory_than_45_days_is_caught(shipped: Template) -> None:
    broken = {rule for rule, _ in findings(dataclasses.replace(shipped, memory_seconds=44 * 86_400))}

    assert broken == {"memory_outlasts_every_replay"}


def test_attempts_raised_in_code_without_the_template_are_caught(shipped: Template) -> None:
    receipts = shipped.jobs["ReceiptsFunction"]
    longer = dataclasses.replace(receipts.retry, attempts=41)
    jobs = {**shipped.jobs, "ReceiptsFunction": dataclasses.replace(receipts, retry=longer)}

    broken = {rule: found.resource for rule, found in findings(dataclasses.replace(shipped, jobs=jobs))}

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

    assert ("encryption_lets_the_topic_write" not in broken) == kept
