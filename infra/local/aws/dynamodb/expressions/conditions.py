"""Conditions, filters and key conditions.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.OperatorsAndFunctions.html
"""

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from infra.local.aws.dynamodb.expressions import paths
from infra.local.aws.dynamodb.expressions.parser import Parser
from infra.local.aws.dynamodb.expressions.paths import Path
from infra.local.aws.dynamodb.expressions.scope import References, Scope
from infra.local.aws.dynamodb.values import Item, Value, invalid, kind_of, scalar, size

_ORDERINGS: Mapping[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_COMPARATORS = ("=", "<>", *_ORDERINGS)
_ORDERED_KINDS = ("S", "N", "B")


@dataclass(frozen=True)
class PathOperand:
    path: Path

    def value(self, item: Item, scope: Scope) -> Value | None:
        return paths.find(item, paths.resolved(self.path, scope))


@dataclass(frozen=True)
class ValueOperand:
    name: str

    def value(self, item: Item, scope: Scope) -> Value | None:  # noqa: ARG002 - an operand's contract
        return scope.value(self.name)


@dataclass(frozen=True)
class SizeOperand:
    operand: PathOperand

    def value(self, item: Item, scope: Scope) -> Value | None:
        value = self.operand.value(item, scope)
        return None if value is None else {"N": str(_length(value))}


Operand = PathOperand | ValueOperand | SizeOperand


@dataclass(frozen=True)
class Comparison:
    comparator: str
    left: Operand
    right: Operand

    def holds(self, item: Item, scope: Scope) -> bool:
        """What is missing equals nothing: only `<>` holds of it."""
        left, right = self.left.value(item, scope), self.right.value(item, scope)
        if self.comparator == "=":
            return left is not None and left == right
        if self.comparator == "<>":
            return left is None or left != right
        return _ordered(self.comparator, left, right)


@dataclass(frozen=True)
class Between:
    operand: Operand
    low: Operand
    high: Operand

    def holds(self, item: Item, scope: Scope) -> bool:
        value = self.operand.value(item, scope)
        low, high = self.low.value(item, scope), self.high.value(item, scope)
        return _ordered(">=", value, low) and _ordered("<=", value, high)


@dataclass(frozen=True)
class In:
    operand: Operand
    choices: tuple[Operand, ...]

    def holds(self, item: Item, scope: Scope) -> bool:
        value = self.operand.value(item, scope)
        return value is not None and any(choice.value(item, scope) == value for choice in self.choices)


@dataclass(frozen=True)
class Call:
    function: str
    arguments: tuple[Operand, ...]

    def holds(self, item: Item, scope: Scope) -> bool:
        return _FUNCTIONS[self.function](*(argument.value(item, scope) for argument in self.arguments))


@dataclass(frozen=True)
class Junction:
    is_and: bool
    parts: "tuple[Condition, ...]"

    def holds(self, item: Item, scope: Scope) -> bool:
        results = (part.holds(item, scope) for part in self.parts)
        return all(results) if self.is_and else any(results)


@dataclass(frozen=True)
class Not:
    part: "Condition"

    def holds(self, item: Item, scope: Scope) -> bool:
        return not self.part.holds(item, scope)


Condition = Comparison | Between | In | Call | Junction | Not


@dataclass(frozen=True)
class Parsed:
    condition: Condition
    references: References


@lru_cache(maxsize=1024)
def parse(kind: str, text: str) -> Parsed:
    """ValidationException when the text is no condition; `kind` names the parameter it came in."""
    parser = _ConditionParser(kind, text)
    condition = parser.condition()
    parser.finish()
    return Parsed(condition, parser.references)


class _ConditionParser(Parser):
    def condition(self) -> Condition:
        return self._joined("OR", self._conjunction, is_and=False)

    def _conjunction(self) -> Condition:
        return self._joined("AND", self._negation, is_and=True)

    def _joined(self, word: str, part: Callable[[], Condition], is_and: bool) -> Condition:
        parts = [part()]
        while self.accept(word):
            parts.append(part())
        return parts[0] if len(parts) == 1 else Junction(is_and, tuple(parts))

    def _negation(self) -> Condition:
        return Not(self._negation()) if self.accept("NOT") else self._primary()

    def _primary(self) -> Condition:
        if self.accept("("):
            inner = self.condition()
            self.expect(")")
            return inner
        if self.is_call and self.next != "size":
            return self._call()
        return self._relation(self._operand())

    def _relation(self, left: Operand) -> Condition:
        if self.next in _COMPARATORS:
            return Comparison(self.take(), left, self._operand())
        if self.accept("BETWEEN"):
            low = self._operand()
            self.expect("AND")
            return Between(left, low, self._operand())
        self.expect("IN")
        self.expect("(")
        choices = self.several(self._operand)
        self.expect(")")
        return In(left, choices)

    def _operand(self) -> Operand:
        if self.next.startswith(":"):
            return ValueOperand(self.value())
        if self.is_call and self.accept("SIZE"):
            self.expect("(")
            operand = PathOperand(self.path())
            self.expect(")")
            return SizeOperand(operand)
        return PathOperand(self.path())

    def _call(self) -> Condition:
        function = self.take()
        if function not in _FUNCTIONS:
            raise invalid(f"Invalid {self.kind}: Invalid function name; function: {function}")
        self.expect("(")
        arguments = self.several(self._operand)
        self.expect(")")
        if len(arguments) != _ARGUMENTS[function]:
            raise invalid(
                f"Invalid {self.kind}: Incorrect number of operands for operator or function; operator or "
                f"function: {function}, number of operands: {len(arguments)}"
            )
        if not isinstance(arguments[0], PathOperand):
            raise invalid(
                f"Invalid {self.kind}: Operator or function requires a document path; operator or function: "
                f"{function}"
            )
        return Call(function, arguments)


def _ordered(comparator: str, left: Value | None, right: Value | None) -> bool:
    """Only strings, numbers and binaries have an order, each among themselves."""
    if (
        left is None
        or right is None
        or kind_of(left) != kind_of(right)
        or kind_of(left) not in _ORDERED_KINDS
    ):
        return False
    return _ORDERINGS[comparator](scalar(left), scalar(right))


def _length(value: Value) -> int:
    kind = kind_of(value)
    if kind == "S":
        return len(value["S"].encode())
    if kind == "B":
        return size(value)
    if kind in ("N", "BOOL", "NULL"):
        raise invalid(
            "Invalid ConditionExpression: Incorrect operand type for operator or function; operator or "
            f"function: size, operand type: {kind}"
        )
    return len(value[kind])


def _begins_with(value: Value | None, prefix: Value | None) -> bool:
    if value is None or prefix is None or kind_of(value) != kind_of(prefix):
        return False
    start, whole = scalar(prefix), scalar(value)
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


def _attribute_type(value: Value | None, kind: Value | None) -> bool:
    return value is not None and kind is not None and kind_of(value) == kind.get("S")


_FUNCTIONS: Mapping[str, Callable[..., bool]] = {
    "attribute_exists": lambda value: value is not None,
    "attribute_not_exists": lambda value: value is None,
    "attribute_type": _attribute_type,
    "begins_with": _begins_with,
    "contains": _contains,
}
_ARGUMENTS = {
    "attribute_exists": 1,
    "attribute_not_exists": 1,
    "attribute_type": 2,
    "begins_with": 2,
    "contains": 2,
}
