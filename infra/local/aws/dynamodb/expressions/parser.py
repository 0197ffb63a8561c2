"""Tokens of an expression, and the parts that all kinds of expression share."""

import re
from collections.abc import Callable
from typing import NoReturn, TypeVar

from infra.local.aws.dynamodb.expressions.paths import Path
from infra.local.aws.dynamodb.expressions.reserved import RESERVED
from infra.local.aws.dynamodb.expressions.scope import References
from infra.local.aws.dynamodb.values import invalid

T = TypeVar("T")

_TOKEN = re.compile(r"\s*(?:([#:]?[A-Za-z0-9_]+)|(<>|<=|>=|[=<>(),.+\-\[\]])|(\S))")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


class Parser:
    """Walks one expression's tokens; `kind` names it in errors, e.g. `ConditionExpression`."""

    def __init__(self, kind: str, text: str) -> None:
        if not text.strip():
            raise invalid(f"Invalid {kind}: The expression can not be empty;")
        self.kind = kind
        self._tokens = self._split(text)
        self._position = 0
        self._names: set[str] = set()
        self._values: set[str] = set()

    @property
    def references(self) -> References:
        return References(frozenset(self._names), frozenset(self._values))

    @property
    def next(self) -> str:
        """The coming token, empty at the end."""
        return self._tokens[self._position] if self._position < len(self._tokens) else ""

    @property
    def is_call(self) -> bool:
        """Whether a function's name and bracket come next."""
        following = self._tokens[self._position + 1 : self._position + 2]
        return following == ["("] and bool(_NAME.fullmatch(self.next))

    def take(self) -> str:
        token = self.next
        self._position += 1
        return token

    def accept(self, word: str) -> bool:
        """Step over a keyword or symbol if it comes next."""
        if self.next.upper() != word:
            return False
        self._position += 1
        return True

    def expect(self, word: str) -> None:
        if not self.accept(word):
            self.fail()

    def finish(self) -> None:
        if self.next:
            self.fail()

    def fail(self) -> NoReturn:
        token = self.next or "<EOF>"
        near = " ".join(self._tokens[max(self._position - 1, 0) : self._position + 2])
        raise invalid(f'Invalid {self.kind}: Syntax error; token: "{token}", near: "{near}"')

    def path(self) -> Path:
        steps: list[str | int] = [self._name()]
        while True:
            if self.accept("."):
                steps.append(self._name())
            elif self.accept("["):
                steps.append(self._index())
            else:
                return tuple(steps)

    def value(self) -> str:
        """A value placeholder."""
        if not self.next.startswith(":"):
            self.fail()
        token = self.take()
        self._values.add(token)
        return token

    def several(self, one: Callable[[], T]) -> tuple[T, ...]:
        """One or more, separated by commas."""
        found = [one()]
        while self.accept(","):
            found.append(one())
        return tuple(found)

    def _name(self) -> str:
        token = self.next
        if token.startswith("#") and len(token) > 1:
            self._names.add(token)
        elif not _NAME.fullmatch(token):
            self.fail()
        elif token.upper() in RESERVED:
            raise invalid(
                f"Invalid {self.kind}: Attribute name is a reserved keyword; reserved keyword: {token}"
            )
        return self.take()

    def _index(self) -> int:
        token = self.take()
        if not token.isdigit():
            self.fail()
        self.expect("]")
        return int(token)

    def _split(self, text: str) -> list[str]:
        tokens: list[str] = []
        for match in _TOKEN.finditer(text):
            if match[3]:
                near = text[match.start() :][:20]
                raise invalid(f'Invalid {self.kind}: Syntax error; token: "{match[3]}", near: "{near}"')
            tokens.append(match[1] or match[2])
        return tokens
