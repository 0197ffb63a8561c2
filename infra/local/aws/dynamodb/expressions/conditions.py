"""Conditions, filters and key conditions.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.OperatorsAndFunctions.html
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from infra.local.aws.dynamodb.expressions import paths
from infra.local.aws.dynamodb.expressions.functions import ARGUMENTS, COMPARATORS, FUNCTIONS, compares, length
from infra.local.aws.dynamodb.expressions.parser import Parser
from infra.local.aws.dynamodb.expressions.paths import Path
from infra.local.aws.dynamodb.expressions.scope import References, Scope
from infra.local.aws.dynamodb.values import Item, Value, invalid


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
        return None if value is None else {"N": str(length(value))}


Operand = PathOperand | ValueOperand | SizeOperand


@dataclass(frozen=True)
class Comparison:
    comparator: str
    left: Operand
    right: Operand

    def holds(self, item: Item, scope: Scope) -> bool:
        return compares(self.comparator, self.left.value(item, scope), self.right.value(item, scope))


@dataclass(frozen=True)
class Between:
    operand: Operand
    low: Operand
    high: Operand

    def holds(self, item: Item, scope: Scope) -> bool:
        value = self.operand.value(item, scope)
        low, high = self.low.value(item, scope), self.high.value(item, scope)
        return compares(">=", value, low) and compares("<=", value, high)


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
        return FUNCTIONS[self.function](*(argument.value(item, scope) for argument in self.arguments))


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
        if self.next in COMPARATORS:
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
        if function not in FUNCTIONS:
            raise invalid(f"Invalid {self.kind}: Invalid function name; function: {function}")
        self.expect("(")
        arguments = self.several(self._operand)
        self.expect(")")
        if len(arguments) != ARGUMENTS[function]:
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
