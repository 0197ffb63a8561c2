"""What the comparators and functions of conditions mean.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.OperatorsAndFunctions.html
"""

import operator
from collections.abc import Callable, Mapping
from typing import Any

from infra.local.aws.dynamodb.values import Value, invalid, kind_of, scalar, size

_ORDERINGS: Mapping[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_ORDERED_KINDS = ("S", "N", "B")
COMPARATORS = ("=", "<>", *_ORDERINGS)


def compares(comparator: str, left: Value | None, right: Value | None) -> bool:
    """What is missing equals nothing: only `<>` holds of it."""
    if comparator == "=":
        return left is not None and left == right
    if comparator == "<>":
        return left is None or left != right
    return _is_ordered(comparator, left, right)


def _is_ordered(comparator: str, left: Value | None, right: Value | None) -> bool:
    """Only strings, numbers and binaries have an order, each among themselves."""
    if (
        left is None
        or right is None
        or kind_of(left) != kind_of(right)
        or kind_of(left) not in _ORDERED_KINDS
    ):
        return False
    return _ORDERINGS[comparator](scalar(left), scalar(right))


def length(value: Value) -> int:
    """What `size(path)` gives: bytes of text and binary, elements of all else."""
    kind = kind_of(value)
    if kind in ("S", "B"):
        return size(value)
    if kind in ("N", "BOOL", "NULL"):
        raise invalid(
            "Invalid ConditionExpression: Incorrect operand type for operator or function; operator or "
            f"function: size, operand type: {kind}"
        )
    return len(value[kind])


def _exists(value: Value | None) -> bool:
    return value is not None


def _is_missing(value: Value | None) -> bool:
    return value is None


def _begins_with(value: Value | None, prefix: Value | None) -> bool:
    if value is None or prefix is None or kind_of(value) != kind_of(prefix):
        return False
    whole, start = scalar(value), scalar(prefix)
    if isinstance(whole, str) and isinstance(start, str):
        return whole.startswith(start)
    return isinstance(whole, bytes) and isinstance(start, bytes) and whole.startswith(start)


def _contains(value: Value | None, part: Value | None) -> bool:
    if value is None or part is None:
        return False
    kind, part_kind = kind_of(value), kind_of(part)
    if kind in ("SS", "NS", "BS"):
        return kind[0] == part_kind and part[part_kind] in value[kind]
    if kind == "L":
        return part in value["L"]
    return kind == part_kind == "S" and part["S"] in value["S"]


def _is_of_type(value: Value | None, kind: Value | None) -> bool:
    return value is not None and kind is not None and kind_of(value) == kind.get("S")


FUNCTIONS: Mapping[str, Callable[..., bool]] = {
    "attribute_exists": _exists,
    "attribute_not_exists": _is_missing,
    "attribute_type": _is_of_type,
    "begins_with": _begins_with,
    "contains": _contains,
}
ARGUMENTS = {
    "attribute_exists": 1,
    "attribute_not_exists": 1,
    "attribute_type": 2,
    "begins_with": 2,
    "contains": 2,
}
