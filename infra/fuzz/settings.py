"""What schemathesis is told: who calls, which answers a well-formed request may get, what is left out."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from handlers.postroom.operations import Operation
from infra.contracts.openapi import operation_id

CALLERS = ("alice", "bola")
HOOKS = Path(__file__).with_name("hooks.py")
_LEFT_OUT = {
    "unsupported_method": "API Gateway answers 404, not 405, to a method that no route has",
}
_REFUSED_AS = ["400", "401", "404", "413", "415", "422"]


def configuration(operations: Sequence[Operation], auth: Path) -> str:
    """The text of `schemathesis.toml`; `auth` is where the callers' tokens are."""
    kept = {_path(each) for each in operations if each.is_cancellation}
    values = (line for each in operations for line in _dictionaries(each))
    own = (line for each in operations for line in _of(each, _path(each) in kept))
    return "\n".join([*_general(auth), *values, *own])


def callers(tokens: Mapping[str, str]) -> str:
    """The callers in the form of Web Fuzzing Commons; the first one asks, and no other may see what is hers.

    Source: github.com/WebFuzzing/Commons
    """
    entries = [
        {"name": name, "fixedHeaders": [{"name": "Authorization", "value": f"Bearer {token}"}]}
        for name, token in tokens.items()
    ]
    return json.dumps({"auth": entries})


def _general(auth: Path) -> Iterator[str]:
    yield f"hooks = {json.dumps(str(HOOKS))}"
    yield "continue-on-failure = true"
    yield "warnings = false"
    yield "[generation]"
    yield "allow-x00 = true"
    yield 'database = "none"'
    yield "[auth.wfc]"
    yield f"path = {json.dumps(str(auth))}"
    yield f"peers = {json.dumps(CALLERS)}"
    for check, why in _LEFT_OUT.items():
        yield f"[checks.{check}]  # {why}"
        yield "enabled = false"
    yield "[checks.negative_data_rejection]"
    yield f"expected-statuses = {json.dumps(_REFUSED_AS)}"


def _dictionaries(operation: Operation) -> Iterator[str]:
    """Let half of the requests name what is there: what the body's own examples name."""
    for path, examples in _examples_of(operation):
        yield f"[dictionaries.{json.dumps(_dictionary(operation, path))}]"
        yield f"values = {json.dumps(examples)}"


def _dictionary(operation: Operation, path: str) -> str:
    return f"{operation_id(operation.route)}.{path}"


def _examples_of(operation: Operation) -> Iterator[tuple[str, list[Any]]]:
    schema = operation.body.model_json_schema() if operation.body else {}
    yield from _examples(schema, schema.get("$defs", {}))


def _examples(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Iterator[tuple[str, list[Any]]]:
    for name, member in schema.get("properties", {}).items():
        if "examples" in member:
            yield f"body.{name}", member["examples"]
        items = definitions.get(member.get("items", {}).get("$ref", "").rpartition("/")[2], {})
        for path, examples in _examples(items, definitions):
            yield f"body.{name}[*].{path.removeprefix('body.')}", examples


def _path(operation: Operation) -> str:
    return operation.route.partition(" ")[2]


def _of(operation: Operation, is_kept: bool) -> Iterator[str]:
    accepted = [str(status) for status in [*operation.replies, *operation.refusals, 401]]
    yield "[[operations]]"
    yield f"include-operation-id = {json.dumps(operation_id(operation.route))}"
    yield f"checks.positive_data_acceptance.expected-statuses = {json.dumps(accepted)}"
    for path, _ in _examples_of(operation):
        dictionary = json.dumps(_dictionary(operation, path))
        yield f"parameters.{json.dumps(path)} = {{ dictionary = {dictionary}, probability = 0.5 }}"
    if is_kept:
        yield "checks.use_after_free.enabled = false"
