"""Document paths: `#order.lines[2].sku`."""

from collections.abc import Mapping
from typing import Any

from infra.local.aws.dynamodb.expressions.scope import Scope
from infra.local.aws.dynamodb.values import Item, Value, invalid

Path = tuple[str | int, ...]
NO_SUCH_PATH = "The document path provided in the update expression is invalid for update"


def resolved(path: Path, scope: Scope) -> Path:
    return tuple(scope.name(step) if isinstance(step, str) else step for step in path)


def find(item: Mapping[str, Value], path: Path) -> Value | None:
    """The value at a resolved path, or None."""
    found: Value | None = item.get(str(path[0]))
    for step in path[1:]:
        if found is None:
            return None
        found = _child(found, step)
    return found


def put(item: Item, path: Path, value: Value | None) -> Item:
    """A copy of the item with the value at the path set, or removed when None."""
    return _changed_map(item, path, value)


def overlap(one: Path, other: Path) -> bool:
    shorter = min(len(one), len(other))
    return one[:shorter] == other[:shorter]


def _child(value: Value, step: str | int) -> Value | None:
    if isinstance(step, int):
        elements = value.get("L", [])
        return elements[step] if step < len(elements) else None
    child: Value | None = value.get("M", {}).get(step)
    return child


def _changed_map(members: Mapping[str, Value], path: Path, value: Value | None) -> Item:
    name, rest = str(path[0]), path[1:]
    if rest:
        if name not in members:
            raise invalid(NO_SUCH_PATH)
        return {**members, name: _changed(members[name], rest, value)}
    if value is None:
        return {key: member for key, member in members.items() if key != name}
    return {**members, name: value}


def _changed(container: Value, path: Path, value: Value | None) -> Value:
    step = path[0]
    if isinstance(step, int) and "L" in container:
        return {"L": _changed_list(container["L"], step, path[1:], value)}
    if isinstance(step, str) and "M" in container:
        return {"M": _changed_map(container["M"], path, value)}
    raise invalid(NO_SUCH_PATH)


def _changed_list(elements: list[Value], index: int, rest: Path, value: Value | None) -> list[Any]:
    """Setting beyond the end appends; removing beyond it does nothing."""
    if rest:
        if index >= len(elements):
            raise invalid(NO_SUCH_PATH)
        return [*elements[:index], _changed(elements[index], rest, value), *elements[index + 1 :]]
    kept = [] if value is None else [value]
    return [*elements[:index], *kept, *elements[index + 1 :]]
