"""What the placeholders of a request stand for."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from infra.local.aws.dynamodb.values import Value, canonical, invalid


@dataclass(frozen=True)
class References:
    """The placeholders an expression uses."""

    names: frozenset[str] = field(default_factory=frozenset)
    values: frozenset[str] = field(default_factory=frozenset)


class Scope:
    """`ExpressionAttributeNames` and `ExpressionAttributeValues` of one request."""

    def __init__(self, params: Mapping[str, Any]) -> None:
        self._names: Mapping[str, str] = params.get("ExpressionAttributeNames") or {}
        given = params.get("ExpressionAttributeValues") or {}
        self._values = {name: canonical(value) for name, value in given.items()}

    def name(self, name: str) -> str:
        return self._names[name] if name.startswith("#") else name

    def value(self, name: str) -> Value:
        return self._values[name]

    def check(self, uses: Iterable[tuple[str, References]]) -> None:
        """Every placeholder used is defined, and every one defined is used."""
        names: set[str] = set()
        values: set[str] = set()
        for kind, references in uses:
            _refuse_undefined(kind, "name", "document path", references.names - self._names.keys())
            _refuse_undefined(kind, "value", "expression", references.values - self._values.keys())
            names |= references.names
            values |= references.values
        _refuse_unused("Names", self._names.keys() - names)
        _refuse_unused("Values", self._values.keys() - values)


def _refuse_undefined(kind: str, what: str, where: str, missing: frozenset[str]) -> None:
    if missing:
        raise invalid(
            f"Invalid {kind}: An expression attribute {what} used in {where} is not defined; "
            f"attribute {what}: {min(missing)}"
        )


def _refuse_unused(what: str, unused: set[str]) -> None:
    if unused:
        keys = ", ".join(sorted(unused))
        raise invalid(f"Value provided in ExpressionAttribute{what} unused in expressions: keys: {{{keys}}}")
