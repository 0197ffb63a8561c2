"""Roles that grant more or less than their functions use."""

from __future__ import annotations

from typing import Any

from infra.checks.mutants.changes import GRANTED_IS_USED, Change, Mutant, Resources

JOBS_TABLE = {"Fn::GetAtt": ["JobsTable", "Arn"]}
WAREHOUSE_QUEUE = {"Fn::GetAtt": ["WarehouseQueue", "Arn"]}
WAREHOUSE_LOGS = {"Fn::GetAtt": ["WarehouseLogs", "Arn"]}


def more(role: str, beside: str, action: str) -> Change:
    """A role that may do `action`, too, in the statement that holds `beside`."""

    def change(resources: Resources) -> None:
        _statement(resources, role, beside)["Action"].append(action)

    return change


def less(role: str, action: str) -> Change:
    def change(resources: Resources) -> None:
        _statement(resources, role, action)["Action"].remove(action)

    return change


def elsewhere(role: str, action: str, resource: object) -> Change:
    """A role whose statement that holds `action` is for another resource."""

    def change(resources: Resources) -> None:
        _statement(resources, role, action)["Resource"] = resource

    return change


def _statement(resources: Resources, role: str, action: str) -> dict[str, Any]:
    statements: list[dict[str, Any]] = resources[role]["Properties"]["Policies"][0]["PolicyDocument"][
        "Statement"
    ]
    return next(each for each in statements if action in each["Action"])


CHANGES = {
    "deletes-what-it-only-writes": more("LoyaltyRole", "dynamodb:PutItem", "dynamodb:DeleteItem"),
    "reads-the-whole-table": more("CheckoutRole", "dynamodb:GetItem", "dynamodb:Scan"),
    "creates-log-groups": more("LoyaltyRole", "logs:PutLogEvents", "logs:CreateLogGroup"),
    "purges-its-queue": more("LoyaltyRole", "sqs:DeleteMessage", "sqs:PurgeQueue"),
    "encrypts-anything": more("RelayRole", "kms:Decrypt", "kms:Encrypt"),
    "cannot-back-off": less("LoyaltyRole", "sqs:ChangeMessageVisibility"),
    "mapping-cannot-delete": less("LoyaltyRole", "sqs:DeleteMessage"),
    "mapping-cannot-read-the-stream": less("RelayRole", "dynamodb:GetShardIterator"),
    "cannot-check-a-condition": less("StatementRole", "dynamodb:ConditionCheckItem"),
    "cannot-mark-in-batches": less("RelayRole", "dynamodb:PartiQLUpdate"),
    "cannot-report-what-the-stream-gave-up": less("RelayRole", "sqs:SendMessage"),
    "cannot-use-the-topics-key": less("SweepRole", "kms:GenerateDataKey"),
    "cannot-trace": less("LoyaltyRole", "xray:PutTraceSegments"),
    "cannot-publish-in-order": elsewhere("RelayRole", "sns:Publish", {"Ref": "EventsTopic"}),
    "writes-into-another-table": elsewhere("LoyaltyRole", "dynamodb:PutItem", JOBS_TABLE),
    "queries-any-index": elsewhere("SweepRole", "dynamodb:Query", {"Fn::Sub": "${ShopTable.Arn}/index/*"}),
    "reads-another-stream": elsewhere(
        "RelayRole", "dynamodb:GetRecords", {"Fn::Sub": "${JobsTable.Arn}/stream/*"}
    ),
    "works-on-anothers-queue": elsewhere("LoyaltyRole", "sqs:ReceiveMessage", WAREHOUSE_QUEUE),
    "logs-into-anothers-group": elsewhere("LoyaltyRole", "logs:PutLogEvents", WAREHOUSE_LOGS),
}

MUTANTS = [Mutant(name, GRANTED_IS_USED, change) for name, change in CHANGES.items()]
