"""The PartiQL we use: UPDATE of one item by its whole key.

`UPDATE "Table" SET a=? REMOVE b WHERE pk=? AND sk=? [AND condition] [RETURNING ALL OLD *]`. It is translated
into an update expression and a condition, so that both languages share one meaning.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ql-reference.update.html
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NoReturn

from infra.local.aws.dynamodb import writes
from infra.local.aws.dynamodb.table import Table
from infra.local.aws.dynamodb.values import invalid
from infra.local.aws.dynamodb.writes import Write

_TOKEN = re.compile(
    r"""\s*(?:(?P<text>'(?:[^']|'')*')|"(?P<quoted>[^"]+)"|(?P<word>[A-Za-z_][A-Za-z0-9_]*)"""
    r"""|(?P<number>-?\d+(?:\.\d+)?)|(?P<symbol><>|<=|>=|[=<>?,*()])|(?P<other>\S))"""
)
_RETURNING = {
    ("ALL", "OLD"): "ALL_OLD",
    ("ALL", "NEW"): "ALL_NEW",
    ("MODIFIED", "OLD"): "UPDATED_OLD",
    ("MODIFIED", "NEW"): "UPDATED_NEW",
}
_COMPARATORS = ("=", "<>", "<", "<=", ">", ">=")


@dataclass
class Statement:
    """A parsed update. `returned` is the ReturnValues it asks for."""

    table: str
    sets: list[str] = field(default_factory=list)
    removes: list[str] = field(default_factory=list)
    equalities: dict[str, Any] = field(default_factory=dict)
    conditions: list[str] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)
    returned: str = "NONE"

    def write(self, table: Table, shows_old: bool) -> Write:
        """The item must exist: UPDATE creates nothing."""
        keys = table.schema.names
        if any(name not in self.equalities for name in keys):
            raise invalid("Where clause does not contain a mandatory equality on all key attributes")
        others = [
            f"{self.name(name)} = {self.value(value)}"
            for name, value in self.equalities.items()
            if name not in keys
        ]
        conditions = [f"attribute_exists({self.name(table.schema.hash)})", *others, *self.conditions]
        params: dict[str, Any] = {
            "Key": {name: self.equalities[name] for name in keys},
            "UpdateExpression": self._update_expression(),
            "ConditionExpression": " AND ".join(conditions),
            "ExpressionAttributeNames": self.names,
            "ExpressionAttributeValues": self.values,
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD" if shows_old else "NONE",
        }
        return writes.update(table, params)

    def name(self, name: str) -> str:
        """A placeholder for an attribute name."""
        placeholder = f"#n{len(self.names)}"
        self.names[placeholder] = name
        return placeholder

    def value(self, value: Any) -> str:
        """A placeholder for a value."""
        placeholder = f":v{len(self.values)}"
        self.values[placeholder] = value
        return placeholder

    def _update_expression(self) -> str:
        clauses = (("SET", self.sets), ("REMOVE", self.removes))
        return " ".join(f"{word} {', '.join(parts)}" for word, parts in clauses if parts)


def parse(text: str, parameters: Sequence[Any]) -> Statement:
    """ValidationException for anything but an UPDATE; parameters stand for the question marks, in order."""
    return _StatementParser(text, parameters).statement()


@lru_cache(maxsize=64)
def _tokens(text: str) -> Sequence[tuple[str, str]]:
    """Each token's kind and text. The same few statements come again and again."""
    return [(str(match.lastgroup), match[str(match.lastgroup)]) for match in _TOKEN.finditer(text)]


class _StatementParser:
    def __init__(self, text: str, parameters: Sequence[Any]) -> None:
        self._tokens = _tokens(text)
        self._position = 0
        self._parameters = list(parameters)

    def statement(self) -> Statement:
        self._expect("UPDATE")
        statement = Statement(self._identifier())
        while not self._accept("WHERE"):
            self._change(statement)
        self._condition(statement)
        while self._accept("AND"):
            self._condition(statement)
        if self._accept("RETURNING"):
            statement.returned = self._returning()
        if self._position < len(self._tokens):
            self._fail()
        if self._parameters:
            raise invalid("Number of parameters in request and statement don't match.")
        return statement

    def _change(self, statement: Statement) -> None:
        """`SET a=?, b=?`, `SET a=? SET b=?` and `REMOVE c` are all written."""
        if self._accept("REMOVE"):
            statement.removes.append(statement.name(self._identifier()))
            return
        self._expect("SET")
        while True:
            name = self._identifier()
            self._expect("=")
            statement.sets.append(f"{statement.name(name)} = {statement.value(self._value())}")
            if not self._accept(","):
                return

    def _condition(self, statement: Statement) -> None:
        name = self._identifier()
        if self._accept("IS"):
            function = "attribute_exists" if self._accept("NOT") else "attribute_not_exists"
            self._expect("MISSING")
            statement.conditions.append(f"{function}({statement.name(name)})")
            return
        comparator = self._take()[1]
        if comparator not in _COMPARATORS:
            self._fail()
        value = self._value()
        if comparator == "=" and name not in statement.equalities:
            statement.equalities[name] = value
        else:
            statement.conditions.append(f"{statement.name(name)} {comparator} {statement.value(value)}")

    def _returning(self) -> str:
        which = (self._take()[1].upper(), self._take()[1].upper())
        self._expect("*")
        if which not in _RETURNING:
            self._fail()
        return _RETURNING[which]

    def _identifier(self) -> str:
        kind, text = self._take()
        if kind not in ("word", "quoted"):
            self._fail()
        return text

    def _value(self) -> Mapping[str, Any]:
        kind, text = self._take()
        if text == "?" and self._parameters:
            parameter: Mapping[str, Any] = self._parameters.pop(0)
            return parameter
        if kind == "text":
            return {"S": text[1:-1].replace("''", "'")}
        if kind != "number":
            self._fail()
        return {"N": text}

    def _take(self) -> tuple[str, str]:
        self._position += 1
        return self._tokens[self._position - 1] if self._position <= len(self._tokens) else ("end", "")

    def _accept(self, word: str) -> bool:
        kind, text = self._tokens[self._position] if self._position < len(self._tokens) else ("end", "")
        if kind not in ("word", "symbol") or text.upper() != word:
            return False
        self._position += 1
        return True

    def _expect(self, word: str) -> None:
        if not self._accept(word):
            self._fail()

    def _fail(self) -> NoReturn:
        raise invalid("Statement wasn't well formed, can't be processed: Unexpected token")
