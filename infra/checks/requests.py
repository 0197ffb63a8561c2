"""Rules on what answers a person or a clock: routes and schedules."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from infra.checks.template import Finding, Template, text

WEBHOOK_RECEIVERS, PUBLIC = "WEBHOOK_RECEIVERS", "public"
GATEWAY_SECONDS = 29
"""An HTTP API waits 30 s at most, its integration's time-out included:
docs.aws.amazon.com/apigateway/latest/developerguide/http-api-quotas.html"""


def api_function_ends_before_the_gateway(template: Template) -> Iterator[Finding]:
    """Otherwise the client is told 503 and tries again while the first run still goes on:
    docs.aws.amazon.com/apigateway/latest/developerguide/http-api-quotas.html"""
    for function in sorted({function_of(template, operation) for _, operation in routes(template)}):
        timeout = template.properties(function).get("Timeout", 3)
        if timeout > GATEWAY_SECONDS:
            yield Finding(function, f"may run {timeout} s, and its caller waits {GATEWAY_SECONDS} s")


def route_needs_a_caller(template: Template) -> Iterator[Finding]:
    """The caller is the token's subject: a route without an authorizer has none.
    docs.aws.amazon.com/apigateway/latest/developerguide/http-api-jwt-authorizer.html"""
    for route, operation in routes(template):
        if not any(operation.get("security", [])):
            yield Finding(function_of(template, operation), f"answers {route} without an authorizer")


def api_is_throttled(template: Template) -> Iterator[Finding]:
    """Without limits of its own one caller uses up the account's, which all its APIs share:
    docs.aws.amazon.com/apigateway/latest/developerguide/http-api-throttling.html"""
    for name, stage in template.of_type("AWS::ApiGatewayV2::Stage"):
        settings = stage.get("DefaultRouteSettings", {})
        for limit in ("ThrottlingBurstLimit", "ThrottlingRateLimit"):
            if not settings.get(limit):
                yield Finding(name, f"lacks DefaultRouteSettings: {{{limit}}}")


def api_logs_its_requests(template: Template) -> Iterator[Finding]:
    """A request that no function saw (refused, throttled, timed out) is told of nowhere else:
    docs.aws.amazon.com/apigateway/latest/developerguide/http-api-logging.html"""
    for name, stage in template.of_type("AWS::ApiGatewayV2::Stage"):
        settings = stage.get("AccessLogSettings", {})
        if not settings.get("DestinationArn") or "$context.requestId" not in settings.get("Format", ""):
            yield Finding(name, "lacks AccessLogSettings with the request's id")


def cors_is_for_one_origin(template: Template) -> Iterator[Finding]:
    """With a wildcard the pages of any site may call, with whatever token they have got hold of:
    docs.aws.amazon.com/apigateway/latest/developerguide/http-api-cors.html"""
    for name, api in template.of_type("AWS::ApiGatewayV2::Api"):
        origins = api.get("Body", {}).get("x-amazon-apigateway-cors", {}).get("allowOrigins", [])
        if len(origins) > 1 or any("*" in text(origin) for origin in origins):
            yield Finding(name, f"may be called by the pages of {', '.join(map(text, origins))}")


def schedule_names_its_zone(template: Template) -> Iterator[Finding]:
    """A schedule without one drifts by an hour twice a year:
    docs.aws.amazon.com/scheduler/latest/UserGuide/schedule-types.html"""
    for name, schedule in template.of_type("AWS::Scheduler::Schedule"):
        if "ScheduleExpressionTimezone" not in schedule:
            yield Finding(name, "does not say ScheduleExpressionTimezone")
    for name, rule in template.of_type("AWS::Events::Rule"):
        if str(rule.get("ScheduleExpression", "")).startswith("cron"):
            yield Finding(name, "is a cron rule, which has no time zone: use ScheduleV2")


def webhooks_go_to_the_public_only(template: Template) -> Iterator[Finding]:
    """The local run's switch, in a deployed stack, would let any caller ask what only the inside may,
    the runtime's credentials on loopback included: docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html"""
    for name, function in template.functions():
        reach = function.get("Environment", {}).get("Variables", {}).get(WEBHOOK_RECEIVERS, PUBLIC)
        if reach != PUBLIC:
            yield Finding(name, f"sets {WEBHOOK_RECEIVERS} to something else than {PUBLIC}")


def routes(template: Template) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Each route's key (`POST /checkout`), and its operation in the API's body."""
    for _, api in template.of_type("AWS::ApiGatewayV2::Api"):
        for path, operations in api.get("Body", {}).get("paths", {}).items():
            for method, operation in operations.items():
                yield f"{method.upper()} {path}", operation


def function_of(template: Template, operation: Mapping[str, Any]) -> str:
    """The logical id of the function that a route leads to."""
    uri = text(operation["x-amazon-apigateway-integration"]["uri"])
    return template.function_behind(re.findall(r"functions/\$\{(\w+)(?:\.Arn)?\}", uri)[-1])


RULES = (
    api_function_ends_before_the_gateway,
    route_needs_a_caller,
    api_is_throttled,
    api_logs_its_requests,
    cors_is_for_one_origin,
    schedule_names_its_zone,
    webhooks_go_to_the_public_only,
)
