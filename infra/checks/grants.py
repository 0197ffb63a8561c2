"""What each role is granted, and what each function really asks of AWS, in the same words."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase as fnmatch
from typing import Any

from handlers.postroom.aws.deployment import Deployment
from infra.checks.roles import TRACING, USING_A_KEY
from infra.checks.template import Template, as_list, target, text
from infra.local.aws import LocalAws
from infra.local.aws.session import unsigned
from infra.local.functions import FunctionSettings, InProcess, Runner

Grant = tuple[str, str]
"""An action (`dynamodb:PutItem`) and the logical id of the resource it is for; of an index, with its name."""

LOGGING = ("logs:CreateLogStream", "logs:PutLogEvents")
POLLING = ("sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes")
"""docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html"""
READING = ("DescribeStream", "GetRecords", "GetShardIterator", "ListStreams")
"""docs.aws.amazon.com/lambda/latest/dg/services-dynamodb-eventsourcemapping.html"""

SMS = "SMS"
"""A phone number has no ARN: the right to send SMS is that to publish to whatever is not a topic."""

NAMING = ("PhoneNumber", "GroupName", "TableName", "TopicArn", "QueueUrl", "QueueName", "SourceArn", "Bucket")
IN_TRANSACTION = {"Put": "PutItem", "Update": "UpdateItem", "Delete": "DeleteItem"}
ACTION_OF = {
    "PublishBatch": "Publish",
    "SendMessageBatch": "SendMessage",
    "ChangeMessageVisibilityBatch": "ChangeMessageVisibility",
}


def granted(template: Template, function: str) -> set[Grant]:
    role = str(target(template.properties(function)["Role"]))
    return {
        (action, resource)
        for policy in template.properties(role)["Policies"]
        for statement in policy["PolicyDocument"]["Statement"]
        if statement["Effect"] == "Allow"
        for action in as_list(statement["Action"])
        for named in as_list(statement.get("Resource", SMS))
        for resource in _logical_ids(template, named)
    }


def needed_by_lambda(template: Template, function: str) -> set[Grant]:
    """What Lambda itself does in the function's name: logs, and polling its mapping's source."""
    log_group = str(target(template.properties(function)["LoggingConfig"]["LogGroup"]))
    needed = {(action, log_group) for action in LOGGING}
    if template.properties(function).get("TracingConfig", {}).get("Mode") == "Active":
        needed |= {(action, "*") for action in TRACING}
    for _, mapping in template.mappings():
        if template.function_of(mapping) == function:
            needed |= set(_polling(template, mapping))
    return needed


def differences(template: Template, used: Mapping[str, set[Grant]]) -> dict[str, list[str]]:
    """What is wrong with each function's role: a grant that it lacks, or one that nothing uses."""
    return {function: sorted(_difference(template, function, used)) for function, _ in template.functions()}


def _difference(template: Template, function: str, used: Mapping[str, set[Grant]]) -> Iterator[str]:
    asked, grants = used.get(function, set()), granted(template, function)
    needed = asked | needed_by_lambda(template, function)
    needed |= needed_for_keys(template, needed)
    yield from (f"lacks {action} on {resource}" for action, resource in needed - grants)
    yield from (f"has {action} on {resource} for nothing" for action, resource in grants - needed)


def needed_for_keys(template: Template, used: set[Grant]) -> set[Grant]:
    """What the use of topics and queues asks of the keys that they are encrypted with."""
    keys = {
        name: target(resource.get("Properties", {}).get("KmsMasterKeyId"))
        for name, resource in template.resources.items()
    }
    return {
        (needed, key)
        for action, resource in used
        for needed in USING_A_KEY.get(action, ())
        if (key := keys.get(resource))
    }


def _polling(template: Template, mapping: Mapping[str, Any]) -> Iterator[Grant]:
    source = str(target(mapping["EventSourceArn"]))
    if source in dict(template.queues()):
        yield from ((action, source) for action in POLLING)
    else:
        yield from ((f"dynamodb:{action}", f"{source}/stream/*") for action in READING)
    if failures := target(mapping.get("DestinationConfig", {}).get("OnFailure", {}).get("Destination")):
        yield "sqs:SendMessage", failures


def _logical_ids(template: Template, resource: Any) -> list[str]:
    """The resource that is named, or every queue whose name fits a pattern."""
    if resource in (SMS, "*"):
        return [resource]
    _, of_this_stack, rest = text(resource).partition("${AWS::StackName}")
    if of_this_stack:
        pattern = of_this_stack + rest
        return [name for name, queue in template.queues() if fnmatch(text(queue.get("QueueName")), pattern)]
    (name, part), *_ = re.findall(r"\$\{(\w+)(?:\.Arn)?\}(/(?:index|stream)/.+)?", text(resource))
    return [f"{name}{part}"]


@dataclass
class Usage:
    """Runs each function with a session of its own, and notes what is asked through it."""

    aws: LocalAws
    calls: dict[str, set[Grant]] = field(default_factory=lambda: defaultdict(set))

    def runner(self, settings: FunctionSettings, surroundings: Callable[[], Deployment]) -> Runner:
        session = unsigned(self.aws.session())

        def note(params: Mapping[str, Any], model: Any, **_: Any) -> None:
            self.calls[settings.name].update(_asked(model.service_model.service_name, model.name, params))

        session.events.register("provide-client-params", note)
        return InProcess(settings.handler, lambda: replace(surroundings(), session=session, _clients={}))

    def of(self, function: str, names: Mapping[str, str]) -> set[Grant]:
        """What a function has asked for; `names` maps physical names to logical ids."""
        by_name = {_last_part(physical): logical for physical, logical in names.items()}
        return {(action, _logical_id(resource, by_name)) for action, resource in self.calls[function]}


def _logical_id(asked_for: str, by_name: Mapping[str, str]) -> str:
    if asked_for.startswith("+"):
        return SMS
    physical, index, name = asked_for.partition("/index/")
    return f"{by_name[_last_part(physical)]}{index}{name}"


def _last_part(physical: str) -> str:
    """A queue is asked for by URL, ARN or name."""
    return re.split("[:/]", physical)[-1]


def _asked(service: str, operation: str, params: Mapping[str, Any]) -> Iterator[Grant]:
    match operation:
        case "BatchGetItem":
            yield from (("dynamodb:BatchGetItem", table) for table in params["RequestItems"])
        case "TransactWriteItems":
            for (kind, write), *_ in (item.items() for item in params["TransactItems"]):
                yield f"dynamodb:{IN_TRANSACTION.get(kind, 'ConditionCheckItem')}", write["TableName"]
        case "BatchExecuteStatement":
            for statement in params["Statements"]:
                yield "dynamodb:PartiQLUpdate", re.findall(r'UPDATE "([^"]+)"', statement["Statement"])[0]
        case "Query" if "IndexName" in params:
            yield "dynamodb:Query", f"{params['TableName']}/index/{params['IndexName']}"
        case "CreateSchedule":
            yield "scheduler:CreateSchedule", params["GroupName"]
            yield "iam:PassRole", params["Target"]["RoleArn"]
        case _:
            resource = next(params[key] for key in NAMING if key in params)
            yield f"{service}:{ACTION_OF.get(operation, operation)}", resource
