"""Ways to change an expanded template, one at a time."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from infra.checks.template import Template

GRANTED_IS_USED = "granted = used"
"""In place of a rule: the comparison of a role with what its function was seen to use."""
Resources = dict[str, Any]
Change = Callable[[Resources], None]


@dataclass(frozen=True, slots=True)
class Mutant:
    """A template that is weaker in one way, and the rule that has to say so."""

    name: str
    rule: str
    change: Change


def unset(resource: str, *path: Any) -> Change:
    def change(resources: Resources) -> None:
        *parents, last = path
        del _inner(resources[resource]["Properties"], parents)[last]

    return change


def put(resource: str, *path_and_value: Any) -> Change:
    def change(resources: Resources) -> None:
        *parents, last, value = path_and_value
        _inner(resources[resource]["Properties"], parents)[last] = value

    return change


def add(name: str, kind: str, properties: dict[str, Any]) -> Change:
    def change(resources: Resources) -> None:
        resources[name] = {"Type": kind, "Properties": properties}

    return change


def _inner(value: Any, path: Any) -> Any:
    for step in path:
        value = value[step]
    return value


def weakened(template: Template, change: Change) -> Template:
    return dataclasses.replace(template, resources=changed(template.resources, change))


def changed(resources: Mapping[str, Any], change: Change) -> Resources:
    """The resources after the change; those that are given stay as they are."""
    # A copy by way of JSON takes a fifth of the time of a deep one.
    copy: Resources = json.loads(json.dumps(dict(resources)))
    change(copy)
    return copy
