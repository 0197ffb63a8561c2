"""Rules on functions that are called at an alias, of a published version, and may start from a snapshot."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from infra.checks.template import Finding, Properties, Template, references, target

_NOT_IN_A_VERSION = frozenset({"CodeSigningConfigArn", "Tags"})
"""Of the function as a whole: a version has none of its own."""


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


def version_names_what_its_function_takes(template: Template) -> Iterator[Finding]:
    """A version is a copy. SAM makes the next one when its function is written otherwise, and does not see
    that what it refers to has another value. CloudFormation does, in the version's own description, which
    cannot be changed and so makes a new version:
    docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/aws-resource-lambda-version.html"""
    for name, version in template.of_type("AWS::Lambda::Version"):
        function = str(target(version["FunctionName"]))
        named = set(references(version))
        for each in sorted(_taken(template, template.properties(function)) - named):
            yield Finding(name, f"is not published anew when {each} changes, of which {function} is made")


def _taken(template: Template, function: Properties) -> set[str]:
    """The parameters and resources that decide what a version of a function is."""
    kept = {key: value for key, value in function.items() if key not in _NOT_IN_A_VERSION}
    decided = [template.conditions.get(name, {}) for name in _conditions(kept)]
    return {each for each in references([kept, decided]) if not each.startswith("AWS::")}


def _conditions(value: Any) -> Iterator[str]:
    """The names of the conditions that a value depends on, however deep in it."""
    if isinstance(value, Mapping):
        if "Fn::If" in value:
            yield str(value["Fn::If"][0])
        yield from (each for inner in value.values() for each in _conditions(inner))
    elif isinstance(value, list):
        yield from (each for inner in value for each in _conditions(inner))


RULES = (snapshot_is_called_at_an_alias, version_names_what_its_function_takes)
