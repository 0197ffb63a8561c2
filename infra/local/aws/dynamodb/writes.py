"""Puts, updates, deletes and condition checks, alone or as parts of a transaction."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from infra.local.aws.dynamodb.expressions import conditions, updates
from infra.local.aws.dynamodb.expressions.conditions import Condition
from infra.local.aws.dynamodb.expressions.paths import Path
from infra.local.aws.dynamodb.expressions.projections import project
from infra.local.aws.dynamodb.expressions.scope import Scope
from infra.local.aws.dynamodb.keys import Key
from infra.local.aws.dynamodb.table import Table
from infra.local.aws.dynamodb.values import Item, bad_parameter, canonical_item

Params = Mapping[str, Any]


class ConditionFailedError(Exception):
    """The condition does not hold of the existing item."""

    def __init__(self, existing: Item | None) -> None:
        super().__init__("The conditional request failed")
        self.existing = existing


@dataclass(frozen=True)
class Write:
    """One write as requested: under which condition, and what it makes of the item that is there.

    `touched` are the paths of an update, for the UPDATED_* return values; `shows_old` says whether a failure
    shows the existing item.
    """

    table: Table
    key: Key
    change: Callable[[Item | None], Item | None]
    scope: Scope
    condition: Condition | None = None
    touched: tuple[Path, ...] = ()
    shows_old: bool = False
    checks_only: bool = False

    @property
    def target(self) -> tuple[str, Key]:
        return self.table.name, self.key

    def outcome(self) -> "Outcome":
        """What the write would do now; raises ConditionFailedError or the error of an impossible change."""
        old = self.table.get(self.key)
        if self.condition is not None and not self.condition.holds(old or {}, self.scope):
            raise ConditionFailedError(old)
        new = self.change(old)
        if new is not None and new is not old:
            self.table.check(new)
        return Outcome(self, old, new)


@dataclass(frozen=True)
class Outcome:
    """A write with the item before and after it."""

    write: Write
    old: Item | None
    new: Item | None

    def commit(self) -> None:
        if not self.write.checks_only:
            self.write.table.store(self.write.key, self.new)

    def returned(self, wanted: str) -> Item | None:
        """The attributes that ReturnValues asks for.

        https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateItem.html
        """
        item = self.old if wanted.endswith("_OLD") else self.new
        if wanted == "NONE" or item is None:
            return None
        return project(item, list(self.write.touched)) if wanted.startswith("UPDATED_") else item


def put(table: Table, params: Params) -> Write:
    item, scope = canonical_item(params["Item"]), Scope(params)
    key = table.schema.of_item(item)
    return Write(table, key, lambda _: item, scope, _condition(params, scope), shows_old=_shows_old(params))


def delete(table: Table, params: Params) -> Write:
    scope = Scope(params)
    key = table.schema.of_key(canonical_item(params["Key"]))
    return Write(table, key, lambda _: None, scope, _condition(params, scope), shows_old=_shows_old(params))


def check(table: Table, params: Params) -> Write:
    scope = Scope(params)
    key = table.schema.of_key(canonical_item(params["Key"]))
    condition = _condition(params, scope)
    return Write(
        table, key, lambda old: old, scope, condition, shows_old=_shows_old(params), checks_only=True
    )


def update(table: Table, params: Params) -> Write:
    """An update of an item that does not exist starts from its key alone."""
    scope = Scope(params)
    names = canonical_item(params["Key"])
    key = table.schema.of_key(names)
    text = params.get("UpdateExpression")
    expression = None if text is None else updates.parse(text)
    condition = _condition(params, scope, expression)
    if expression is None:
        return Write(table, key, lambda old: old or names, scope, condition, shows_old=_shows_old(params))
    touched = expression.paths(scope)
    expression.check(touched)
    refuse_key_changes(table, touched)
    return Write(
        table,
        key,
        lambda old: expression.apply(old or names, scope, touched),
        scope,
        condition,
        touched,
        shows_old=_shows_old(params),
    )


def refuse_key_changes(table: Table, touched: tuple[Path, ...]) -> None:
    for path in touched:
        if path[0] in table.schema.names:
            raise bad_parameter(f"Cannot update attribute {path[0]}. This attribute is part of the key")


def _condition(params: Params, scope: Scope, update: updates.Update | None = None) -> Condition | None:
    text = params.get("ConditionExpression")
    parsed = None if text is None else conditions.parse("ConditionExpression", text)
    uses = [] if update is None else [("UpdateExpression", update.references)]
    if parsed is not None:
        uses.append(("ConditionExpression", parsed.references))
    scope.check(uses)
    return None if parsed is None else parsed.condition


def _shows_old(params: Params) -> bool:
    return params.get("ReturnValuesOnConditionCheckFailure") == "ALL_OLD"
