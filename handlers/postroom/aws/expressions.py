"""Writes and conditions as DynamoDB's expression language.

Every name is aliased, so an attribute may have any name (`state`, `owner` and 570 others are reserved).
docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.ExpressionAttributeNames.html
"""

from collections.abc import Iterable, Mapping
from typing import Any

from boto3.dynamodb.types import TypeDeserializer, TypeSerializer

from ..storage import (
    Absent,
    AllOf,
    AnyOf,
    Check,
    Compare,
    Condition,
    Delete,
    Exists,
    Item,
    Key,
    OneOf,
    Put,
    Update,
    Write,
)

_serialize_rare = TypeSerializer().serialize
_deserialize_rare = TypeDeserializer().deserialize
_TOO_LONG = 10**38
"""DynamoDB keeps 38 digits."""

Request = dict[str, Any]


def to_attributes(item: Item) -> dict[str, Any]:
    """Plain values to attribute values. Raises TypeError for a float: money must stay exact."""
    return {name: _serialize(value) for name, value in item.items()}


def from_attributes(attributes: Mapping[str, Any] | None) -> dict[str, Any]:
    """Attribute values to plain ones; whole numbers become int, others stay Decimal."""
    return {name: _deserialize(value) for name, value in (attributes or {}).items()}


def key_attributes(key: Key) -> dict[str, Any]:
    return {"pk": {"S": key.pk}, "sk": {"S": key.sk}}


def request_of(write: Write, table_name: str) -> tuple[str, Request]:
    """The operation (`Put`, `Update`, ...) and its parameters, in the form that transactions take."""
    words = _Words()
    operation, body = _body(write, words)
    request: Request = {"TableName": table_name, **body}
    if write.condition is not None:
        request["ConditionExpression"] = _condition(write.condition, words)
        request["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
    return operation, {**request, **words.used()}


def _body(write: Write, words: "_Words") -> tuple[str, Request]:
    key = key_attributes(write.key)
    match write:
        case Put():
            return "Put", {"Item": {**to_attributes(write.item), **key}}
        case Update():
            return "Update", {"Key": key, "UpdateExpression": _update(write, words)}
        case Delete():
            return "Delete", {"Key": key}
        case Check():
            return "ConditionCheck", {"Key": key}


class _Words:
    """The aliases of one request: `#0`, `#1` for names and `:0`, `:1` for values."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._values: dict[str, Any] = {}

    def name(self, attribute: str) -> str:
        return self._names.setdefault(attribute, f"#{len(self._names)}")

    def value(self, value: Any) -> str:
        alias = f":{len(self._values)}"
        self._values[alias] = _serialize(value)
        return alias

    def used(self) -> Request:
        names = {alias: name for name, alias in self._names.items()}
        request: Request = {}
        if names:
            request["ExpressionAttributeNames"] = names
        if self._values:
            request["ExpressionAttributeValues"] = self._values
        return request


def _update(write: Update, words: _Words) -> str:
    assignments = [f"{words.name(name)} = {words.value(value)}" for name, value in write.set.items()]
    for name, entries in write.append.items():
        alias = words.name(name)
        assignments.append(
            f"{alias} = list_append(if_not_exists({alias}, {words.value([])}), {words.value(list(entries))})"
        )
    additions = [f"{words.name(name)} {words.value(number)}" for name, number in write.add.items()]
    removals = [words.name(name) for name in write.remove]
    return " ".join(
        _clause("SET", assignments) + _clause("ADD", additions) + _clause("REMOVE", removals),
    )


def _clause(keyword: str, parts: list[str]) -> list[str]:
    return [f"{keyword} {', '.join(parts)}"] if parts else []


def _condition(condition: Condition, words: _Words) -> str:
    match condition:
        case Compare(attribute, operator, value):
            return f"{words.name(attribute)} {operator} {words.value(value)}"
        case Exists(attribute):
            return f"attribute_exists({words.name(attribute)})"
        case Absent(attribute):
            return f"attribute_not_exists({words.name(attribute)})"
        case OneOf(attribute, values):
            options = ", ".join(words.value(value) for value in values)
            return f"{words.name(attribute)} IN ({options})"
        case AllOf(conditions):
            return _joined(" AND ", conditions, words)
        case AnyOf(conditions):
            return _joined(" OR ", conditions, words)


def _joined(operator: str, conditions: Iterable[Condition], words: _Words) -> str:
    return operator.join(f"({_condition(condition, words)})" for condition in conditions)


def _serialize(value: Any) -> Any:
    """The usual types at once: boto3 tries one after the other on every value, for five times the time."""
    kind = type(value)
    if kind is str:
        return {"S": value}
    if kind is int and -_TOO_LONG < value < _TOO_LONG:
        return {"N": str(value)}
    if kind is dict:
        return {"M": {name: _serialize(member) for name, member in value.items()}}
    if kind is list:
        return {"L": [_serialize(member) for member in value]}
    return _serialize_rare(value)


def _deserialize(value: Any) -> Any:
    """Whole numbers read as int, so that what was written as int compares and prints as int."""
    ((kind, content),) = value.items()
    match kind:
        case "S":
            return content
        case "N" if content.isdecimal():
            return int(content)
        case "M":
            return {name: _deserialize(member) for name, member in content.items()}
        case "L":
            return [_deserialize(member) for member in content]
    plain = _deserialize_rare(value)
    return int(plain) if kind == "N" and plain == plain.to_integral_value() else plain
