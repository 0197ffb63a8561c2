"""Rule on names: two stages of one account must not meet in one."""

from __future__ import annotations

from collections.abc import Iterator

from infra.checks.template import Finding, Template, references, target, text

NAMES = frozenset(
    {
        *("AlarmName", "AliasName", "BucketName", "DashboardName", "FunctionName", "GroupName", "LayerName"),
        *("LogGroupName", "ManagedPolicyName", "Name", "QueueName", "RoleName", "TableName", "TopicName"),
        "UserPoolName",
    }
)
OF_A_STAGE = frozenset({"AWS::StackName", "AWS::StackId", "Stage"})
WITHIN_ANOTHER = frozenset({"AWS::Lambda::Alias"})
"""An alias has its name for itself within its function."""


def name_differs_between_stages(template: Template) -> Iterator[Finding]:
    """A literal name lets the second stack of an account fail, or share what is the first's:
    docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/aws-properties-name.html"""
    for resource, body in template.resources.items():
        if body["Type"] in WITHIN_ANOTHER:
            continue
        for key, value in body.get("Properties", {}).items():
            if key in NAMES and target(value) is None and OF_A_STAGE.isdisjoint(references(value)):
                yield Finding(resource, f"is named {text(value)} in every stage: put ${{AWS::StackName}} in")


RULES = (name_differs_between_stages,)
