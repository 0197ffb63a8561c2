"""Roles that grant more or less than their functions use."""

from __future__ import annotations

from typing import Any

from infra.checks.mutants.changes import Change, Mutant, Resources, put, unset
from infra.checks.mutants.defences import POLICIES

GRANTED_IS_USED = "granted = used"

JOBS_TABLE = {"Fn::GetAtt": ["JobsTable", "Arn"]}


def more(role: str, statement: int, action: str) -> Change:
    def change(resources: Resources) -> None:
        _actions(resources, role, statement).append(action)

    return change


def less(role: str, statement: int, action: str) -> Change:
    def change(resources: Resources) -> None:
        _actions(resources, role, statement).remove(action)

    return change


def elsewhere(role: str, statement: int, resource: object) -> Change:
    return put(role, *POLICIES, statement, "Resource", resource)


def _actions(resources: Resources, role: str, statement: int) -> list[str]:
    policy: Any = resources[role]["Properties"]["Policies"][0]["PolicyDocument"]
    actions: list[str] = policy["Statement"][statement]["Action"]
    return actions


CHANGES = {
    "deletes-what-it-only-writes": more("LoyaltyRole", 3, "dynamodb:DeleteItem"),
    "reads-the-whole-table": more("CheckoutRole", 1, "dynamodb:Scan"),
    "creates-log-groups": more("LoyaltyRole", 0, "logs:CreateLogGroup"),
    "purges-its-queue": more("LoyaltyRole", 1, "sqs:PurgeQueue"),
    "cannot-back-off": less("LoyaltyRole", 1, "sqs:ChangeMessageVisibility"),
    "mapping-cannot-delete": less("LoyaltyRole", 1, "sqs:DeleteMessage"),
    "mapping-cannot-read-the-stream": less("RelayRole", 1, "dynamodb:GetShardIterator"),
    "cannot-check-a-condition": less("StatementRole", 2, "dynamodb:ConditionCheckItem"),
    "cannot-mark-in-batches": less("RelayRole", 2, "dynamodb:PartiQLUpdate"),
    "cannot-report-what-the-stream-gave-up": unset("RelayRole", *POLICIES, 4),
    "cannot-publish-in-order": elsewhere("RelayRole", 3, {"Ref": "EventsTopic"}),
    "writes-into-another-table": elsewhere("LoyaltyRole", 3, JOBS_TABLE),
    "works-on-anothers-queue": elsewhere("LoyaltyRole", 1, {"Fn::GetAtt": ["WarehouseQueue", "Arn"]}),
    "logs-into-anothers-group": elsewhere("LoyaltyRole", 0, {"Fn::GetAtt": ["WarehouseLogs", "Arn"]}),
}

MUTANTS = [Mutant(name, GRANTED_IS_USED, change) for name, change in CHANGES.items()]
