"""Read functions, mappings, routes and schedules out of a deployed template."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from infra.expand import TemplateError
from infra.local.aws.scheduler import Scheduler
from infra.local.deploy import Deployment
from infra.local.discards import Discard
from infra.local.functions import Function, FunctionSettings
from infra.local.heartbeat import Holding, not_holding
from infra.local.http_api import HttpApi
from infra.local.queue_mapping import DEFAULT_CONCURRENCY, Queue, QueueMapping, QueueMappingSettings
from infra.local.routes import Route
from infra.local.schedules import Rule, Schedule, Scheduled
from infra.local.stream_mapping import Stream, StreamMapping, StreamMappingSettings
from infra.local.tokens import Issuer

_INVOKED = re.compile(r"functions/(?P<arn>arn:[^/]+)/invocations")
_UNLIMITED = -1

Mapped = QueueMapping | StreamMapping


@dataclass(frozen=True)
class Sources:
    """Where mappings read from, by ARN, how they hold messages, and where they send what they give up."""

    queue: Callable[[str], Queue]
    stream: Callable[[str], Stream]
    send: Callable[[str, str], None]
    clock: Callable[[], float]
    stopping: threading.Event
    wait: Callable[[float], object]
    holding: Callable[[str], Holding] = lambda _arn: not_holding


def function_settings(deployed: Deployment) -> list[FunctionSettings]:
    """What the template says of each function."""
    return [
        FunctionSettings(
            name=logical_id,
            arn=deployed.attribute(logical_id, "Arn"),
            handler=properties["Handler"],
            environ={
                name: str(value)
                for name, value in properties.get("Environment", {}).get("Variables", {}).items()
            },
            timeout=float(properties.get("Timeout", 3)),
            memory=int(properties.get("MemorySize", 128)),
        )
        for logical_id, properties in deployed.of_type("AWS::Lambda::Function")
    ]


def mappings(deployed: Deployment, functions: Mapping[str, Function], sources: Sources) -> list[Mapped]:
    """Return the template's event source mappings."""
    return [
        _mapping(deployed, logical_id, properties, functions, sources)
        for logical_id, properties in deployed.of_type("AWS::Lambda::EventSourceMapping")
        if properties.get("Enabled", True)
    ]


def _mapping(
    deployed: Deployment,
    name: str,
    properties: Mapping[str, Any],
    functions: Mapping[str, Function],
    sources: Sources,
) -> Mapped:
    function = functions[_function_name(properties["FunctionName"])]
    arn = properties["EventSourceArn"]
    if arn.split(":")[2] == "dynamodb":
        return _stream_mapping(name, properties, function, sources)
    return QueueMapping(
        name,
        sources.queue(arn),
        function,
        queue_settings(properties),
        deployed.account.region,
        sources.stopping,
        sources.wait,
        sources.holding(arn),
    )


def _stream_mapping(
    name: str, properties: Mapping[str, Any], function: Function, sources: Sources
) -> StreamMapping:
    destination = properties.get("DestinationConfig", {}).get("OnFailure", {}).get("Destination")

    def discard(lost: Discard) -> None:
        if destination:
            sources.send(destination, lost.to_json())

    return StreamMapping(
        name,
        sources.stream(properties["EventSourceArn"]),
        function,
        stream_settings(properties),
        sources.clock,
        discard,
        sources.stopping,
    )


def queue_settings(properties: Mapping[str, Any]) -> QueueMappingSettings:
    """Settings of a mapping whose source is a queue."""
    return QueueMappingSettings(
        batch_size=int(properties.get("BatchSize", 10)),
        window=float(properties.get("MaximumBatchingWindowInSeconds", 0)),
        concurrency=int(properties.get("ScalingConfig", {}).get("MaximumConcurrency", DEFAULT_CONCURRENCY)),
        reports_failures=_reports_failures(properties),
        patterns=_patterns(properties),
    )


def stream_settings(properties: Mapping[str, Any]) -> StreamMappingSettings:
    """Settings of a mapping whose source is a table's stream."""
    retries = int(properties.get("MaximumRetryAttempts", _UNLIMITED))
    age = float(properties.get("MaximumRecordAgeInSeconds", _UNLIMITED))
    return StreamMappingSettings(
        batch_size=int(properties.get("BatchSize", 100)),
        from_start=properties["StartingPosition"] == "TRIM_HORIZON",
        reports_failures=_reports_failures(properties),
        bisects=bool(properties.get("BisectBatchOnFunctionError", False)),
        retries=None if retries == _UNLIMITED else retries,
        record_age=None if age == _UNLIMITED else age,
        patterns=_patterns(properties),
    )


def _reports_failures(properties: Mapping[str, Any]) -> bool:
    return "ReportBatchItemFailures" in properties.get("FunctionResponseTypes", [])


def _patterns(properties: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(rule["Pattern"] for rule in properties.get("FilterCriteria", {}).get("Filters", []))


def http_api(deployed: Deployment, functions: Mapping[str, Function]) -> HttpApi | None:
    """Return the template's HTTP API, if it has one. Raises `TemplateError` when it has several."""
    bodies = [properties["Body"] for _, properties in deployed.of_type("AWS::ApiGatewayV2::Api")]
    if len(bodies) > 1:
        raise TemplateError("only one HTTP API runs on this machine")
    if not bodies:
        return None
    authorizers = _authorizers(bodies[0])
    routes = list(_routes(bodies[0], functions, set(authorizers)))
    return HttpApi(routes, next(iter(authorizers.values()), None), deployed.account.number)


def _authorizers(body: Mapping[str, Any]) -> dict[str, Issuer]:
    schemes = body.get("components", {}).get("securitySchemes", {})
    issuers: dict[str, Issuer] = {}
    for name, scheme in schemes.items():
        settings = scheme.get("x-amazon-apigateway-authorizer", {}).get("jwtConfiguration")
        if settings:
            issuers[name] = Issuer(settings["issuer"], settings["audience"])
    if len(issuers) > 1:
        raise TemplateError("only one authorizer runs on this machine")
    return issuers


def _routes(
    body: Mapping[str, Any], functions: Mapping[str, Function], authorizers: set[str]
) -> Sequence[Route]:
    return [
        Route(_method(method), path, functions[_invoked(operation)], _is_authorized(operation, authorizers))
        for path, operations in body["paths"].items()
        for method, operation in operations.items()
        if "x-amazon-apigateway-integration" in operation
    ]


def _method(method: str) -> str:
    return "ANY" if method == "x-amazon-apigateway-any-method" else method.upper()


def _invoked(operation: Mapping[str, Any]) -> str:
    uri = operation["x-amazon-apigateway-integration"]["uri"]
    found = _INVOKED.search(uri)
    if found is None:
        raise TemplateError(f"not an integration with a function: {uri}")
    return _function_name(found["arn"])


def _is_authorized(operation: Mapping[str, Any], authorizers: set[str]) -> bool:
    return any(authorizers & set(requirement) for requirement in operation.get("security", []))


def schedules(
    deployed: Deployment, functions: Mapping[str, Function], scheduler: Scheduler, clock: Callable[[], float]
) -> list[Schedule]:
    """Return the template's schedules that call functions, of EventBridge Scheduler and of its rules."""
    scheduled = [
        Scheduled(
            logical_id,
            functions[_function_name(properties["Target"]["Arn"])],
            deployed.attribute(logical_id, "Arn"),
            scheduler,
        )
        for logical_id, properties in deployed.of_type("AWS::Scheduler::Schedule")
        if ":lambda:" in properties["Target"]["Arn"]
    ]
    rules = [
        Rule(
            logical_id,
            functions[_function_name(target["Arn"])],
            properties["ScheduleExpression"],
            clock,
            json.loads(target["Input"]) if "Input" in target else None,
        )
        for logical_id, properties in deployed.of_type("AWS::Events::Rule")
        for target in properties["Targets"]
    ]
    return [*scheduled, *rules]


def _function_name(name_or_arn: str) -> str:
    return name_or_arn.partition(":function:")[2].partition(":")[0] or name_or_arn
