"""docs/openapi.yaml as a judge: what it has against an answer that the API gave."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft202012Validator

from infra.contracts.files import OPENAPI
from infra.events import ROOT
from infra.local.http_messages import HttpAnswer


class Contract:
    """A document of the API."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._document = document
        self._paths = [
            (re.compile(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(path))), operations)
            for path, operations in document["paths"].items()
        ]

    def faults(self, method: str, path: str, answer: HttpAnswer) -> list[str]:
        """What is not as documented; nothing is said of what no route answers."""
        operation = self._operation(method, path)
        if operation is None:
            return []
        where = f"{method} {path} answered {answer.status}"
        return [f"{where}: {fault}" for fault in self._of(operation, answer)]

    def _operation(self, method: str, path: str) -> Mapping[str, Any] | None:
        for pattern, operations in self._paths:
            if pattern.fullmatch(path) and method.lower() in operations:
                operation: Mapping[str, Any] = operations[method.lower()]
                return operation
        return None

    def _of(self, operation: Mapping[str, Any], answer: HttpAnswer) -> Iterator[str]:
        told = operation["responses"].get(str(answer.status))
        if told is None:
            yield "this status is not documented"
            return
        response = self._resolved(told)
        for name, header in response.get("headers", {}).items():
            if self._resolved(header).get("required") and name.lower() not in answer.headers:
                yield f"the header {name} is missing"
        yield from self._of_body(response.get("content", {}), answer)

    def _of_body(self, content: Mapping[str, Any], answer: HttpAnswer) -> Iterator[str]:
        if not content and answer.body:
            yield "it has a body, and none is documented"
        if not content:
            return
        media_type = answer.headers.get("content-type", "")
        if media_type not in content:
            yield f"{media_type} is not documented"
            return
        # The whole document goes along, so that references are found in it.
        schema = {**self._document, **content[media_type]["schema"]}
        yield from (
            error.message for error in Draft202012Validator(schema).iter_errors(json.loads(answer.body))
        )

    def _resolved(self, told: Mapping[str, Any]) -> Mapping[str, Any]:
        if "$ref" not in told:
            return told
        found: Any = self._document
        for name in told["$ref"].removeprefix("#/").split("/"):
            found = found[name]
        resolved: Mapping[str, Any] = found
        return resolved


@cache
def published() -> Contract:
    """The one that is committed."""
    return Contract(document())


@cache
def document() -> Mapping[str, Any]:
    return read_yaml(ROOT / OPENAPI)


def read_yaml(path: Path) -> dict[str, Any]:
    """With libyaml, where PyYAML comes with it: in a tenth of the time."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    loaded: dict[str, Any] = yaml.load(path.read_text(encoding="utf-8"), Loader=loader)
    return loaded
