"""The API's operations: the template's routes, and what the code behind each says of it."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from typing import Any, cast

from handlers.postroom.aws.deployment import Deployment
from handlers.postroom.aws.http_entry import HttpEntry
from handlers.postroom.operations import Operation, operations_of
from infra.checks.requests import function_of, routes
from infra.checks.template import Template, text

UNTOLD = "tells nothing of itself: give its responder `operations`, or its Work or Change a `summary`"


def operations(template: Template) -> dict[str, Operation]:
    """Every route of the template, by its key (`POST /checkout`), as far as the code tells of it."""
    told: dict[str, Operation] = {}
    for function in dict.fromkeys(function_of(template, operation) for _, operation in routes(template)):
        told |= {each.route: each for each in _told_by(template.properties(function))}
    return {route: told[route] for route, _ in routes(template) if route in told}


def problems(template: Template) -> Iterator[str]:
    """Routes of which no contract can be written, each with what to do about it."""
    told = operations(template)
    for route, _ in routes(template):
        if route not in told or not told[route].summary:
            yield f"{route}: {UNTOLD}"


def _told_by(function: Mapping[str, Any]) -> Iterator[Operation]:
    module, _, attribute = str(function["Handler"]).rpartition(".")
    entry = getattr(importlib.import_module(module), attribute)
    if isinstance(entry, HttpEntry):
        yield from operations_of(entry.responder(_nowhere(function)))


def _nowhere(function: Mapping[str, Any]) -> Deployment:
    """Where a responder can be built, and nothing be asked: it has its settings, and no AWS."""
    variables = function.get("Environment", {}).get("Variables", {})
    return Deployment({name: text(value) for name, value in variables.items()}, cast(Any, None))
