"""What the engine asks of a database: items by key, conditional writes, transactions of them.

Conditions and updates are values, so that a job's effect can be returned, compared and tested without a
database. `postroom.aws.expressions` turns them into DynamoDB's expression language.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol

Item = Mapping[str, Any]
"""Attribute names to str, int, Decimal, bool, None, list or mapping. Never a float: money must stay exact."""

Table = Literal["shop", "jobs"]


class Key(NamedTuple):
    """Where an item lives: the logical table, partition key and sort key (both non-empty strings)."""

    table: Table
    pk: str
    sk: str


@dataclass(frozen=True, slots=True)
class Compare:
    attribute: str
    operator: Literal["=", "<>", "<", "<=", ">", ">="]
    value: Any


@dataclass(frozen=True, slots=True)
class Exists:
    attribute: str = "pk"


@dataclass(frozen=True, slots=True)
class Absent:
    attribute: str = "pk"


@dataclass(frozen=True, slots=True)
class OneOf:
    attribute: str
    values: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class AllOf:
    conditions: tuple["Condition", ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    conditions: tuple["Condition", ...]


Condition = Compare | Exists | Absent | OneOf | AllOf | AnyOf


@dataclass(frozen=True, slots=True)
class Put:
    """Write a whole item; by default only where none is yet.

    `refused` is raised when the condition fails: the domain's word for it, `AlreadyDone` where an item in
    the way means that the effect has happened. None leaves the engine's `Permanent`.
    """

    key: Key
    item: Item
    condition: Condition | None = field(default_factory=Absent)
    refused: Exception | None = None


@dataclass(frozen=True, slots=True)
class Update:
    """Change some attributes. Without a condition the item must exist, so that no phantom is ever made.

    `add` adds numbers, `append` adds to the end of lists (made when absent).
    """

    key: Key
    set: Item = field(default_factory=dict)
    add: Mapping[str, int] = field(default_factory=dict)
    append: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    remove: tuple[str, ...] = ()
    condition: Condition | None = field(default_factory=Exists)
    refused: Exception | None = None


@dataclass(frozen=True, slots=True)
class Delete:
    key: Key
    condition: Condition | None = None
    refused: Exception | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """Write nothing, but cancel the transaction when the condition fails."""

    key: Key
    condition: Condition
    refused: Exception | None = None


Write = Put | Update | Delete | Check


class Store(Protocol):
    """The database as the engine sees it. Every read is strongly consistent."""

    def read(self, keys: Iterable[Key]) -> dict[Key, Item]:
        """The items that exist, by key: one `GetItem`, or as few `BatchGetItem` calls as possible."""

    def write(self, write: Write) -> None:
        """Perform one write. Raises `ConditionFailed` with the item in the way."""

    def change(self, update: Update) -> Item:
        """Perform an update and return the item as it then is. Raises `ConditionFailed` like `write`."""

    def transact(self, writes: Sequence[Write]) -> None:
        """Perform all writes or none. Raises `TransactionCancelled` with one reason per write."""
