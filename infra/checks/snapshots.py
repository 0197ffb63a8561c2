"""Rule on functions that start from a snapshot."""

from __future__ import annotations

import json
from collections.abc import Iterator

from infra.checks.template import Finding, Template, target


def snapshot_is_called_at_an_alias(template: Template) -> Iterator[Finding]:
    """A snapshot is of a published version; the function itself ($LATEST) starts without one:
    docs.aws.amazon.com/lambda/latest/dg/snapstart-activate.html"""
    for name, function in template.functions():
        if function.get("SnapStart", {}).get("ApplyOn", "None") != "None":
            for caller in _callers(template, name):
                yield Finding(caller, f"calls {name}, which has SnapStart, and not its alias")


def _callers(template: Template, function: str) -> Iterator[str]:
    """Mappings, schedules and APIs that name the function itself."""
    for name, mapping in template.mappings():
        if target(mapping["FunctionName"]) == function:
            yield name
    for name, schedule in template.of_type("AWS::Scheduler::Schedule"):
        if target(schedule["Target"]["Arn"]) == function:
            yield name
    for name, api in template.of_type("AWS::ApiGatewayV2::Api"):
        if f"${{{function}.Arn}}" in json.dumps(api.get("Body", {})):
            yield name


RULES = (snapshot_is_called_at_an_alias,)
