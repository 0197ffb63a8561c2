"""Update expressions.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.UpdateExpressions.html
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from itertools import combinations

from infra.local.aws.dynamodb import values
from infra.local.aws.dynamodb.expressions import paths
from infra.local.aws.dynamodb.expressions.parser import Parser
from infra.local.aws.dynamodb.expressions.paths import Path
from infra.local.aws.dynamodb.expressions.scope import References, Scope
from infra.local.aws.dynamodb.values import Item, Value, invalid, kind_of

_CLAUSES = ("SET", "REMOVE", "ADD", "DELETE")
_WRONG_TYPE = "An operand in the update expression has an incorrect data type"
_NO_ATTRIBUTE = "The provided expression refers to an attribute that does not exist in the item"


@dataclass(frozen=True)
class Given:
    name: str

    def value(self, item: Item, scope: Scope) -> Value:  # noqa: ARG002 - an operand's contract
        return scope.value(self.name)


@dataclass(frozen=True)
class Attribute:
    path: Path

    def value(self, item: Item, scope: Scope) -> Value:
        found = paths.find(item, paths.resolved(self.path, scope))
        if found is None:
            raise invalid(_NO_ATTRIBUTE)
        return found


@dataclass(frozen=True)
class IfNotExists:
    path: Path
    otherwise: "Operand"

    def value(self, item: Item, scope: Scope) -> Value:
        found = paths.find(item, paths.resolved(self.path, scope))
        return self.otherwise.value(item, scope) if found is None else found


@dataclass(frozen=True)
class ListAppend:
    first: "Operand"
    second: "Operand"

    def value(self, item: Item, scope: Scope) -> Value:
        first, second = self.first.value(item, scope), self.second.value(item, scope)
        if "L" not in first or "L" not in second:
            raise invalid(_WRONG_TYPE)
        return {"L": [*first["L"], *second["L"]]}


@dataclass(frozen=True)
class Sum:
    left: "Operand"
    sign: str
    right: "Operand"

    def value(self, item: Item, scope: Scope) -> Value:
        left, right = self.left.value(item, scope), self.right.value(item, scope)
        if "N" not in left or "N" not in right:
            raise invalid(_WRONG_TYPE)
        combine = values.add if self.sign == "+" else values.subtract
        return combine(Decimal(left["N"]), Decimal(right["N"]))


Operand = Given | Attribute | IfNotExists | ListAppend | Sum


@dataclass(frozen=True)
class Set:
    path: Path
    operand: Operand

    def result(self, item: Item, scope: Scope) -> Value | None:
        return self.operand.value(item, scope)


@dataclass(frozen=True)
class Remove:
    path: Path

    def result(self, item: Item, scope: Scope) -> Value | None:  # noqa: ARG002 - an action's contract
        return None


@dataclass(frozen=True)
class Add:
    path: Path
    name: str

    def result(self, item: Item, scope: Scope) -> Value | None:
        """Adds to a number (0 when there is none) or to a set."""
        new, old = scope.value(self.name), paths.find(item, paths.resolved(self.path, scope))
        kind = kind_of(new)
        if kind not in ("N", "SS", "NS", "BS"):
            raise invalid(
                "Invalid UpdateExpression: Incorrect operand type for operator or function; operator: ADD"
            )
        if old is None:
            return new
        if kind_of(old) != kind:
            raise invalid(_WRONG_TYPE)
        if kind == "N":
            return values.add(Decimal(old["N"]), Decimal(new["N"]))
        return {kind: sorted({*old[kind], *new[kind]})}


@dataclass(frozen=True)
class Delete:
    path: Path
    name: str

    def result(self, item: Item, scope: Scope) -> Value | None:
        """Takes elements out of a set; a set left empty goes too."""
        unwanted, old = scope.value(self.name), paths.find(item, paths.resolved(self.path, scope))
        kind = kind_of(unwanted)
        if kind not in ("SS", "NS", "BS"):
            raise invalid(
                "Invalid UpdateExpression: Incorrect operand type for operator or function; operator: DELETE"
            )
        if old is None:
            return None
        if kind_of(old) != kind:
            raise invalid(_WRONG_TYPE)
        kept = sorted(set(old[kind]) - set(unwanted[kind]))
        return {kind: kept} if kept else None


Action = Set | Remove | Add | Delete


@dataclass(frozen=True)
class Update:
    """All actions of one expression."""

    actions: tuple[Action, ...]
    references: References

    def paths(self, scope: Scope) -> tuple[Path, ...]:
        return tuple(paths.resolved(action.path, scope) for action in self.actions)

    def check(self, touched: tuple[Path, ...]) -> None:
        """Refuse resolved paths of which one lies in another."""
        if len({path[0] for path in touched}) == len(touched):
            return
        for one, other in combinations(touched, 2):
            if paths.overlap(one, other):
                raise invalid(
                    "Invalid UpdateExpression: Two document paths overlap with each other; must remove or "
                    f"rewrite one of these paths; path one: {list(one)}, path two: {list(other)}"
                )

    def apply(self, item: Item, scope: Scope, touched: tuple[Path, ...]) -> Item:
        """Act on the resolved paths. Every operand is read from the item as it was before any action."""
        results = [
            (path, action.result(item, scope)) for action, path in zip(self.actions, touched, strict=True)
        ]
        # List elements go from the back, so that earlier removals do not shift later ones.
        for path, value in sorted(results, key=_last_index, reverse=True):
            if value is not None or paths.find(item, path) is not None:
                item = paths.put(item, path, value)
        return item


@lru_cache(maxsize=1024)
def parse(text: str) -> Update:
    """ValidationException when the text is no update expression."""
    parser = _UpdateParser("UpdateExpression", text)
    actions = parser.actions()
    return Update(actions, parser.references)


class _UpdateParser(Parser):
    def actions(self) -> tuple[Action, ...]:
        actions: list[Action] = []
        seen: set[str] = set()
        one_of: Mapping[str, Callable[[], Action]] = {
            "SET": self._set,
            "REMOVE": lambda: Remove(self.path()),
            "ADD": lambda: Add(self.path(), self.value()),
            "DELETE": lambda: Delete(self.path(), self.value()),
        }
        while self.next:
            clause = self.take().upper()
            if clause not in _CLAUSES:
                self._position -= 1
                self.fail()
            if clause in seen:
                raise invalid(
                    f'Invalid UpdateExpression: The "{clause}" section can only be used once in an update '
                    "expression;"
                )
            seen.add(clause)
            actions.extend(self.several(one_of[clause]))
        return tuple(actions)

    def _set(self) -> Action:
        path = self.path()
        self.expect("=")
        left = self._operand()
        if self.next in ("+", "-"):
            return Set(path, Sum(left, self.take(), self._operand()))
        return Set(path, left)

    def _operand(self) -> Operand:
        if self.next.startswith(":"):
            return Given(self.value())
        if not self.is_call:
            return Attribute(self.path())
        function = self.take()
        self.expect("(")
        operand = self._function(function)
        self.expect(")")
        return operand

    def _function(self, function: str) -> Operand:
        if function == "if_not_exists":
            path = self.path()
            self.expect(",")
            return IfNotExists(path, self._operand())
        if function == "list_append":
            first = self._operand()
            self.expect(",")
            return ListAppend(first, self._operand())
        raise invalid(f"Invalid UpdateExpression: Invalid function name; function: {function}")


def _last_index(result: tuple[Path, Value | None]) -> int:
    step = result[0][-1]
    return step if isinstance(step, int) else -1
