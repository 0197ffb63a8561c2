"""What the rules look at: the expanded template, and the job types of the functions in it."""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from handlers.postroom.aws.queue_entry import QueueEntry
from handlers.postroom.aws.topic import attributes
from handlers.postroom.jobs import RETENTION_SECONDS, JobType
from handlers.postroom.relay import Entry
from infra.expand import expand

SHIPPED = Path(__file__).parent.parent.parent / "template.yaml"
Properties = Mapping[str, Any]
PUBLISHED_ATTRIBUTES = frozenset(attributes(Entry("", "", "")))


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a rule does not allow: where it is, and what is wrong with it."""

    resource: str
    problem: str


@dataclass(frozen=True, slots=True)
class Template:
    """The resources as CloudFormation sees them, and what the code says that they have to agree with.

    `jobs` maps a function's logical id to its job type, `attributes` are the names that the relay publishes
    with each event, and `memory_seconds` is how long a job's row, which is its marker, is kept.
    """

    resources: Mapping[str, Mapping[str, Any]]
    jobs: Mapping[str, JobType[Any]] = field(default_factory=dict)
    attributes: frozenset[str] = PUBLISHED_ATTRIBUTES
    memory_seconds: int = RETENTION_SECONDS
    conditions: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def load(cls, path: Path) -> Template:
        """Expand the SAM template at `path`, and import the modules of its functions."""
        return cls.of(expand(path))

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Template:
        resources = document["Resources"]
        return cls(resources, dict(_job_types(resources)), conditions=document.get("Conditions", {}))

    def of_type(self, kind: str) -> Iterator[tuple[str, Properties]]:
        for name, resource in self.resources.items():
            if resource["Type"] == kind:
                yield name, resource.get("Properties", {})

    def properties(self, name: str) -> Properties:
        properties: Properties = self.resources[name].get("Properties", {})
        return properties

    def functions(self) -> Iterator[tuple[str, Properties]]:
        return self.of_type("AWS::Lambda::Function")

    def queues(self) -> Iterator[tuple[str, Properties]]:
        return self.of_type("AWS::SQS::Queue")

    def subscriptions(self) -> Iterator[tuple[str, Properties]]:
        return self.of_type("AWS::SNS::Subscription")

    def mappings(self) -> Iterator[tuple[str, Properties]]:
        return self.of_type("AWS::Lambda::EventSourceMapping")

    def queue_mappings(self) -> Iterator[tuple[str, Properties, str]]:
        """Yield each queue's mapping, its properties and the queue's logical id."""
        queues = dict(self.queues())
        for name, mapping in self.mappings():
            if (queue := target(mapping["EventSourceArn"])) in queues:
                yield name, mapping, str(queue)

    def stream_mappings(self) -> Iterator[tuple[str, Properties]]:
        from_queues = {name for name, _, _ in self.queue_mappings()}
        for name, mapping in self.mappings():
            if name not in from_queues:
                yield name, mapping

    def function_of(self, mapping: Properties) -> str:
        """The logical id of the function that a mapping wakes, at an alias or not."""
        return self.function_behind(str(target(mapping["FunctionName"])))

    def function_behind(self, name: str) -> str:
        """The logical id of the function that an alias leads to; a function leads to itself."""
        resource = self.resources.get(name, {})
        is_alias = resource.get("Type") == "AWS::Lambda::Alias"
        return str(target(resource["Properties"]["FunctionName"])) if is_alias else name

    def redrives(self) -> Iterator[tuple[str, str | None, int]]:
        """Yield each queue with a redrive policy, its dead-letter queue and its `maxReceiveCount`."""
        for name, queue in self.queues():
            if policy := queue.get("RedrivePolicy"):
                yield name, target(policy["deadLetterTargetArn"]), int(policy["maxReceiveCount"])


def target(value: Any) -> str | None:
    """The logical id that a reference (`Ref`, `Fn::GetAtt`) points to, None when it is no reference."""
    if isinstance(value, Mapping):
        if "Ref" in value:
            return str(value["Ref"])
        if "Fn::GetAtt" in value:
            attribute = value["Fn::GetAtt"]
            return str(attribute[0] if isinstance(attribute, list) else attribute.partition(".")[0])
    return None


def references(value: Any) -> Iterator[str]:
    """The logical ids (and pseudo parameters) that a value refers to, however deep in it."""
    if isinstance(value, Mapping):
        if (referred := target(value)) is not None:
            yield referred
        if "Fn::Sub" in value:
            yield from re.findall(r"\$\{([\w:]+)", json.dumps(value["Fn::Sub"]))
        yield from (each for inner in value.values() for each in references(inner))
    elif isinstance(value, list):
        yield from (each for inner in value for each in references(inner))


def reached(resources: Mapping[str, Any], names: Iterable[str]) -> set[str]:
    """The logical ids of these resources and of all that they refer to, directly or not."""
    found: set[str] = set()
    wanted = set(names)
    while wanted:
        found |= wanted
        wanted = {each for name in wanted for each in references(resources[name])} & resources.keys() - found
    return found


def text(value: Any) -> str:
    """A value as text that can be compared, with references left as `${...}`."""
    if isinstance(value, Mapping) and "Fn::Sub" in value:
        return str(value["Fn::Sub"])
    return f"${{{target(value)}}}" if target(value) else str(value)


def as_list(value: Any) -> list[Any]:
    """IAM and CloudFormation let one stand for a list of one."""
    return list(value) if isinstance(value, list | tuple) else [value]


def _job_types(resources: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, JobType[Any]]]:
    for name, function in Template(resources).functions():
        module, _, attribute = str(function["Handler"]).rpartition(".")
        handler = getattr(importlib.import_module(module), attribute)
        if isinstance(handler, QueueEntry):
            yield name, handler.job_type
