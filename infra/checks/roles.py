"""Rules on roles: one for each function, saying exactly what it may do and to what."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from infra.checks.template import Finding, Properties, Template, as_list, target, text

TRUSTED = frozenset({"lambda.amazonaws.com", "scheduler.amazonaws.com"})
NO_TOPIC = "arn:${AWS::Partition}:sns:*:*:*"
TRACING = frozenset({"xray:PutTraceSegments", "xray:PutTelemetryRecords"})
"""Of every traced function; X-Ray has no resource for them:
docs.aws.amazon.com/lambda/latest/dg/services-xray.html"""
USING_A_KEY = {
    "sqs:ReceiveMessage": {"kms:Decrypt"},
    "sqs:SendMessage": {"kms:Decrypt", "kms:GenerateDataKey"},
    "sns:Publish": {"kms:Decrypt", "kms:GenerateDataKey"},
}
"""docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-key-management.html"""


def function_has_a_role_of_its_own(template: Template) -> Iterator[Finding]:
    """A shared role grants each function what only the other needs; one made by SAM has managed policies.
    docs.aws.amazon.com/lambda/latest/dg/lambda-intro-execution-role.html"""
    roles = dict(template.of_type("AWS::IAM::Role"))
    users = defaultdict(list)
    for name, function in template.functions():
        users[target(function.get("Role"))].append(name)
    for role, names in users.items():
        if role not in roles:
            yield Finding(", ".join(names), "has no role in this template")
        elif len(names) > 1:
            yield Finding(str(role), f"is shared by {', '.join(names)}")


def role_has_no_managed_policy(template: Template) -> Iterator[Finding]:
    """AWS's own policies allow their actions on everything, and change without a deployment:
    docs.aws.amazon.com/IAM/latest/UserGuide/access_policies_managed-vs-inline.html"""
    for name, role in template.of_type("AWS::IAM::Role"):
        if role.get("ManagedPolicyArns"):
            yield Finding(name, "has a managed policy: say what it may do")
    for kind in ("AWS::IAM::Policy", "AWS::IAM::ManagedPolicy"):
        for name, _ in template.of_type(kind):
            yield Finding(name, "adds to a role from elsewhere: say what it may do in the role itself")


def role_names_its_actions(template: Template) -> Iterator[Finding]:
    """A pattern grants what AWS adds tomorrow, too:
    docs.aws.amazon.com/IAM/latest/UserGuide/best-practices.html"""
    for name, statement in _statements(template):
        if "NotAction" in statement:
            yield Finding(name, "says what it may not do (NotAction), which allows all else")
        for action in as_list(statement.get("Action", [])):
            if "*" in action:
                yield Finding(name, f"may do {action}: name each action")


def role_names_its_resources(template: Template) -> Iterator[Finding]:
    """Every action here has a resource, but for tracing and SMS: a phone number has no ARN, a topic has.
    docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements_notresource.html"""
    for name, statement in _statements(template):
        for resource in as_list(statement.get("Resource", [])):
            if target(resource) is None and "${" not in text(resource) and not _only_traces(statement):
                yield Finding(name, f"reaches {text(resource)}: name the resource")
        if "Resource" not in statement and not _sends_sms_only(statement):
            yield Finding(name, "reaches every resource but some (NotResource)")


def role_is_for_one_service(template: Template) -> Iterator[Finding]:
    """Whoever may take the role over has all its rights:
    docs.aws.amazon.com/IAM/latest/UserGuide/confused-deputy.html"""
    for name, role in template.of_type("AWS::IAM::Role"):
        for statement in as_list(role["AssumeRolePolicyDocument"]["Statement"]):
            principal = statement.get("Principal")
            services = as_list(principal.get("Service")) if isinstance(principal, Mapping) else []
            if len(principal or ()) != 1 or len(services) != 1 or not TRUSTED.issuperset(services):
                yield Finding(name, f"can be taken over by {principal}, not by one service alone")


def role_may_use_the_keys(template: Template) -> Iterator[Finding]:
    """Who reads or writes what is encrypted needs the key, and on that key only:
    docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-key-management.html"""
    for name, role in template.of_type("AWS::IAM::Role"):
        granted = dict(_granted(role))
        for action, resources in granted.items():
            for resource in resources:
                key = target(template.properties(resource).get("KmsMasterKeyId")) if resource else None
                for needed in sorted(USING_A_KEY.get(action, ())) if key else ():
                    if key not in granted.get(needed, set()):
                        yield Finding(
                            name, f"has {action} on {resource}, and lacks {needed} on its key {key}"
                        )


def _granted(role: Properties) -> Iterator[tuple[str, set[str | None]]]:
    granted: dict[str, set[str | None]] = defaultdict(set)
    for statement in _own_statements(role):
        for action in as_list(statement.get("Action", [])):
            granted[str(action)] |= {target(each) for each in as_list(statement.get("Resource", []))}
    yield from granted.items()


def _statements(template: Template) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for name, role in template.of_type("AWS::IAM::Role"):
        for statement in _own_statements(role):
            yield name, statement


def _own_statements(role: Properties) -> Iterator[Mapping[str, Any]]:
    for policy in role.get("Policies", ()):
        yield from as_list(policy["PolicyDocument"]["Statement"])


def _only_traces(statement: Mapping[str, Any]) -> bool:
    return TRACING.issuperset(as_list(statement.get("Action", "*")))


def _sends_sms_only(statement: Mapping[str, Any]) -> bool:
    actions, but = as_list(statement.get("Action", [])), as_list(statement.get("NotResource"))
    return actions == ["sns:Publish"] and [text(each) for each in but] == [NO_TOPIC]


RULES = (
    function_has_a_role_of_its_own,
    role_has_no_managed_policy,
    role_names_its_actions,
    role_names_its_resources,
    role_is_for_one_service,
    role_may_use_the_keys,
)
