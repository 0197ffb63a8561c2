"""The events as an AsyncAPI 3 document: topics, the queue of each subscriber, and the messages in them.

Sources: asyncapi.com/docs/reference/specification/v3.0.0; github.com/asyncapi/bindings (sns, sqs)
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from handlers.postroom.events import EventType
from handlers.postroom.jobs import JobType
from infra.checks.template import Template, target
from infra.events import PUBLISHED, ROOT, SCHEMAS

VERSION = "3.0.0"
_STACK = "${AWS::StackName}"
_HOSTS = {"sns": "sns.{region}.amazonaws.com", "sqs": "sqs.{region}.amazonaws.com"}


def document(
    template: Template, types: Mapping[str, EventType[Any]], version: str, root: Path = ROOT
) -> dict[str, Any]:
    """The whole document; `types` are the event types by name, `version` is the product's."""
    paths = Paths(template, types)
    return {
        "asyncapi": VERSION,
        "info": {
            "title": "Postroom's events",
            "version": version,
            "description": "Facts, at least once, to one queue for each subscriber.",
        },
        "defaultContentType": "application/json",
        "servers": {name: _server(name, host) for name, host in _HOSTS.items()},
        "channels": {**dict(paths.topics()), **dict(paths.queues())},
        "operations": dict(paths.operations()),
        "components": _components(types, root),
    }


class Paths:
    """The ways that events go by the template."""

    def __init__(self, template: Template, types: Mapping[str, EventType[Any]]) -> None:
        self._template = template
        self._types = types
        self._subscriptions = [each for _, each in template.subscriptions() if "FilterPolicy" in each]
        fed = {target(each["TopicArn"]) for each in self._subscriptions}
        self._topics = {name: topic for name, topic in template.of_type("AWS::SNS::Topic") if name in fed}
        self._queues: dict[str, JobType[Any]] = {
            queue: template.jobs[str(target(mapping["FunctionName"]))]
            for _, mapping, queue in template.queue_mappings()
        }

    def topics(self) -> Iterator[tuple[str, dict[str, Any]]]:
        for name, topic in self._topics.items():
            ordering = "FIFO" if topic.get("FifoTopic") else "standard"
            binding = {"name": _name(topic, "TopicName") or name, "ordering": {"type": ordering}}
            yield (
                name,
                {**_channel("sns", _name(topic, "TopicName"), binding), **self._messages(self._on(name))},
            )

    def queues(self) -> Iterator[tuple[str, dict[str, Any]]]:
        for queue, job_type in self._queues.items():
            channel = _channel("sqs", self._queue_name(queue), self._queue_binding(queue))
            yield job_type.subscriber, {**channel, **self._messages(job_type.on.names)}

    def operations(self) -> Iterator[tuple[str, dict[str, Any]]]:
        for topic in self._topics:
            consumers = [
                self._consumer(each) for each in self._subscriptions if target(each["TopicArn"]) == topic
            ]
            binding = {"topic": {"name": topic}, "consumers": consumers}
            yield f"publish-{topic}", _operation("send", topic, {"sns": binding})
        fed = {target(each["Endpoint"]) for each in self._subscriptions}
        for queue, job_type in self._queues.items():
            yield f"work-{job_type.subscriber}", _operation("receive", job_type.subscriber)
            if queue not in fed:
                yield f"send-{job_type.subscriber}", _operation("send", job_type.subscriber)

    def _on(self, topic: str) -> frozenset[str]:
        filters = (each["FilterPolicy"] for each in self._subscriptions if target(each["TopicArn"]) == topic)
        return frozenset(name for policy in filters for name in policy["type"])

    def _messages(self, names: frozenset[str]) -> dict[str, Any]:
        keys = [key for name in sorted(names) for key in _versions(self._types[name])]
        return {"messages": {key: {"$ref": f"#/components/messages/{key}"} for key in keys}}

    def _consumer(self, subscription: Mapping[str, Any]) -> dict[str, Any]:
        undelivered = target(subscription["RedrivePolicy"]["deadLetterTargetArn"])
        return {
            "protocol": "sqs",
            "endpoint": {"name": self._queue_name(str(target(subscription["Endpoint"])))},
            "filterPolicy": subscription["FilterPolicy"],
            "filterPolicyScope": subscription["FilterPolicyScope"],
            "rawMessageDelivery": subscription["RawMessageDelivery"],
            "redrivePolicy": {"deadLetterQueue": {"name": self._queue_name(str(undelivered))}},
        }

    def _queue_binding(self, queue: str) -> dict[str, Any]:
        settings = self._template.properties(queue)
        redrive = settings["RedrivePolicy"]
        dead = str(target(redrive["deadLetterTargetArn"]))
        policy = {
            "deadLetterQueue": {"name": self._queue_name(dead)},
            "maxReceiveCount": redrive["maxReceiveCount"],
        }
        return {
            "queue": {**self._queue(queue), "redrivePolicy": policy},
            "deadLetterQueue": self._queue(dead),
        }

    def _queue(self, queue: str) -> dict[str, Any]:
        settings = self._template.properties(queue)
        return {
            "name": self._queue_name(queue),
            "fifoQueue": bool(settings.get("FifoQueue", False)),
            **(
                {"visibilityTimeout": settings["VisibilityTimeout"]}
                if "VisibilityTimeout" in settings
                else {}
            ),
            "messageRetentionPeriod": settings["MessageRetentionPeriod"],
        }

    def _queue_name(self, queue: str) -> str:
        return _name(self._template.properties(queue), "QueueName") or queue


def _name(settings: Mapping[str, Any], attribute: str) -> str | None:
    """A resource's own name with the stack's left open; None where CloudFormation makes one up."""
    name = settings.get(attribute)
    return str(name["Fn::Sub"]).replace(_STACK, "{stack}") if name else None


def _channel(server: str, address: str | None, binding: Mapping[str, Any]) -> dict[str, Any]:
    parameters = {"stack": {"description": "The stack's name."}}
    return {
        "address": address,
        "servers": [{"$ref": f"#/servers/{server}"}],
        **({"parameters": parameters} if address else {}),
        "bindings": {server: dict(binding)},
    }


def _operation(action: str, channel: str, bindings: Mapping[str, Any] | None = None) -> dict[str, Any]:
    reference = {"$ref": f"#/channels/{channel}"}
    return {"action": action, "channel": reference, **({"bindings": dict(bindings)} if bindings else {})}


def _server(protocol: str, host: str) -> dict[str, Any]:
    region = {"description": "The stack's AWS region.", "default": "eu-west-1"}
    return {"host": host, "protocol": protocol, "variables": {"region": region}}


def _versions(event_type: EventType[Any]) -> list[str]:
    """What can still be read: a message may have waited since before the last deploy."""
    return [f"{event_type.name}.v{each}" for each in range(event_type.oldest, event_type.version + 1)]


def _components(types: Mapping[str, EventType[Any]], root: Path) -> dict[str, Any]:
    keys = [key for name in sorted(types) for key in _versions(types[name])]
    return {
        "messages": {key: _message(key, root) for key in keys},
        "schemas": {key: _schema(key, root) for key in keys},
    }


def _message(key: str, root: Path) -> dict[str, Any]:
    name = key.rpartition(".v")[0]
    attributes = {"type": {"const": name}, "publication": {"type": "string", "description": "New each time."}}
    return {
        "name": name,
        "headers": {"type": "object", "properties": attributes, "required": list(attributes)},
        "payload": {"$ref": f"#/components/schemas/{key}"},
        "correlationId": {"location": "$message.payload#/id"},
        "examples": [{"payload": _read(root / PUBLISHED / f"{key}.json")}],
    }


def _schema(key: str, root: Path) -> dict[str, Any]:
    """As it is committed; what it refers to within itself lies elsewhere here."""
    schema = _read(root / SCHEMAS / f"{key}.json")
    del schema["$schema"]
    text = json.dumps(schema).replace('"#/$defs/', f'"#/components/schemas/{key}/$defs/')
    moved: dict[str, Any] = json.loads(text)
    return moved


def _read(path: Path) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return read
