"""Projection expressions.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.ProjectionExpressions.html
"""

from dataclasses import dataclass
from functools import lru_cache

from infra.local.aws.dynamodb.expressions import paths
from infra.local.aws.dynamodb.expressions.parser import Parser
from infra.local.aws.dynamodb.expressions.paths import Path
from infra.local.aws.dynamodb.expressions.scope import References, Scope
from infra.local.aws.dynamodb.values import Item, Value


@dataclass(frozen=True)
class Projection:
    paths: tuple[Path, ...]
    references: References

    def apply(self, item: Item, scope: Scope) -> Item:
        """The named parts, in the shape they have in the item; list elements close up."""
        return project(item, [paths.resolved(path, scope) for path in self.paths])


@lru_cache(maxsize=1024)
def parse(text: str) -> Projection:
    """ValidationException when the text is no projection."""
    parser = Parser("ProjectionExpression", text)
    found = parser.several(parser.path)
    parser.finish()
    return Projection(found, parser.references)


def project(item: Item, wanted: list[Path]) -> Item:
    """Only what lies at the resolved paths."""
    members: Item = {}
    for name in {str(path[0]): None for path in wanted}:
        if name in item:
            part = _part(item[name], [path[1:] for path in wanted if path[0] == name])
            if part is not None:
                members[name] = part
    return members


def _part(value: Value, wanted: list[Path]) -> Value | None:
    if any(not path for path in wanted):
        return value
    if "M" in value:
        members = project(value["M"], wanted)
        return {"M": members} if members else None
    if "L" in value:
        elements = [
            part
            for index, element in enumerate(value["L"])
            if (inner := [path[1:] for path in wanted if path[0] == index])
            and (part := _part(element, inner)) is not None
        ]
        return {"L": elements} if elements else None
    return None
