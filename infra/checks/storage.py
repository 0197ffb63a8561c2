"""Rules on what is kept: it outlives a mistake, and nothing is forgotten while it can come again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from infra.checks.queues import retention_seconds
from infra.checks.template import Finding, Template

KEPT = ("AWS::DynamoDB::Table", "AWS::S3::Bucket", "AWS::Cognito::UserPool")
DAY_SECONDS = 86_400
TTL_ATTRIBUTE = "expires"
"""What the engine writes; seconds since 1970."""
LEAST_MEMORY_SECONDS = 45 * DAY_SECONDS
SNS_RETRIES_SECONDS = 23 * DAY_SECONDS
"""How long SNS tries to deliver to a queue.

docs.aws.amazon.com/sns/latest/dg/sns-message-delivery-retries.html
"""


def data_outlives_the_stack(template: Template) -> Iterator[Finding]:
    """By default, deleting or replacing a resource deletes what is in it:
    docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/aws-attribute-deletionpolicy.html"""
    for name, resource in template.resources.items():
        for policy in ("DeletionPolicy", "UpdateReplacePolicy"):
            if resource["Type"] in KEPT and resource.get(policy) not in ("Retain", "RetainExceptOnCreate"):
                yield Finding(name, f"lacks {policy}: Retain")


def table_can_be_recovered(template: Template) -> Iterator[Finding]:
    """To any second of the last 35 days, whatever a faulty release has written:
    docs.aws.amazon.com/amazondynamodb/latest/developerguide/PointInTimeRecovery_Howitworks.html"""
    for name, table in template.of_type("AWS::DynamoDB::Table"):
        if table.get("PointInTimeRecoverySpecification", {}).get("PointInTimeRecoveryEnabled") is not True:
            yield Finding(name, "lacks PointInTimeRecoveryEnabled")


def production_table_cannot_be_deleted(template: Template) -> Iterator[Finding]:
    """Retain holds against CloudFormation only; this against everybody:
    docs.aws.amazon.com/amazondynamodb/latest/developerguide/WorkingWithTables.Basics.html"""
    for name, table in template.of_type("AWS::DynamoDB::Table"):
        if not _holds_in_production(table.get("DeletionProtectionEnabled", False)):
            yield Finding(name, "lacks DeletionProtectionEnabled, at least in production")


def rows_expire_when_they_say(template: Template) -> Iterator[Finding]:
    """By another attribute a job's row, which is its marker, would go too soon or never:
    docs.aws.amazon.com/amazondynamodb/latest/developerguide/TTL.html"""
    for name, table in template.of_type("AWS::DynamoDB::Table"):
        if table.get("TimeToLiveSpecification") != {"AttributeName": TTL_ATTRIBUTE, "Enabled": True}:
            yield Finding(name, f"lacks TimeToLiveSpecification on {TTL_ATTRIBUTE}")


def memory_outlasts_every_replay(template: Template) -> Iterator[Finding]:
    """A message that comes after its marker is gone takes effect twice. It may be as old as SNS's
    retries, its queue's retention and its dead-letter queue's together (FIFO queues start the clock anew):
    docs.aws.amazon.com/sns/latest/dg/sns-message-delivery-retries.html"""
    if template.memory_seconds < LEAST_MEMORY_SECONDS:
        yield Finding("RETENTION_SECONDS", f"is under {LEAST_MEMORY_SECONDS // DAY_SECONDS} days")
    for queue, dead, _ in template.redrives():
        retentions = (retention_seconds(template.properties(each)) for each in (queue, str(dead)))
        oldest = SNS_RETRIES_SECONDS + sum(retentions)
        if oldest > template.memory_seconds:
            yield Finding(queue, f"may hand out a message {oldest / DAY_SECONDS:g} days after its event")


def _holds_in_production(value: Any) -> bool:
    if isinstance(value, dict) and "Fn::If" in value:
        condition, then, _ = value["Fn::If"]
        return bool(condition == "Production" and then is True)
    return value is True


RULES = (
    data_outlives_the_stack,
    table_can_be_recovered,
    production_table_cannot_be_deleted,
    rows_expire_when_they_say,
    memory_outlasts_every_replay,
)
