"""In-memory stand-ins for the engine's ports, with the real ones' semantics.

`FakeStore` judges conditions and applies updates as DynamoDB documents them; faults are put in front of it,
not patched into it.
"""

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from handlers.postroom.errors import CancelledBecause, ConditionFailed, Permanent, TransactionCancelled
from handlers.postroom.storage import (
    Absent,
    AllOf,
    AnyOf,
    Check,
    Compare,
    Condition,
    Delete,
    Exists,
    Item,
    Key,
    OneOf,
    Put,
    Update,
    Write,
)

R = TypeVar("R")
Fault = Callable[[Callable[[], Any]], Any]
"""What happens to one call: it gets the call itself, to perform it or not."""


def failing(error: Exception) -> Fault:
    """An error before the effect."""

    def fault(_perform: Callable[[], Any]) -> Any:
        raise error

    return fault


def losing_the_answer(error: Exception) -> Fault:
    """The effect, then an error: the caller cannot know that it happened."""

    def fault(perform: Callable[[], Any]) -> Any:
        perform()
        raise error

    return fault


def sending_twice(perform: Callable[[], Any]) -> Any:
    """The SDK's own resend: the first answer is lost, the caller sees the second."""
    perform()
    return perform()


def meanwhile(other: Callable[[], Any]) -> Fault:
    """Somebody else acts just before the call."""

    def fault(perform: Callable[[], Any]) -> Any:
        other()
        return perform()

    return fault


@dataclass
class Faults:
    """Faults waiting for the next calls of an operation, first come first served."""

    waiting: dict[str, deque[Fault]] = field(default_factory=lambda: defaultdict(deque))

    def on(self, operation: str, *faults: Fault) -> None:
        self.waiting[operation].extend(faults)

    def perform(self, operation: str, call: Callable[[], R]) -> R:
        waiting = self.waiting[operation]
        return cast(R, waiting.popleft()(call)) if waiting else call()


@dataclass
class FakeStore:
    """The `Store` port over a dictionary. `calls` lists what was asked: operation and keys."""

    items: dict[Key, dict[str, Any]] = field(default_factory=dict)
    calls: list[tuple[str, tuple[Key, ...]]] = field(default_factory=list)
    faults: Faults = field(default_factory=Faults)

    def read(self, keys: Iterable[Key]) -> dict[Key, Item]:
        wanted = tuple(keys)
        if len(set(wanted)) != len(wanted):
            raise Permanent("the database refuses the request: a key is asked for twice")
        self.calls.append(("read", wanted))
        return self.faults.perform("read", lambda: self._found(wanted))

    def write(self, write: Write) -> None:
        self.calls.append(("write", (write.key,)))
        self.faults.perform("write", lambda: self._write(write))

    def change(self, update: Update) -> Item:
        self.write(update)
        return deepcopy(self.items[update.key])

    def transact(self, writes: Sequence[Write]) -> None:
        keys = tuple(write.key for write in writes)
        if len(set(keys)) != len(keys) or len(keys) > 100:
            raise Permanent("the database refuses the request: an item twice, or more than 100")
        self.calls.append(("transact", keys))
        self.faults.perform("transact", lambda: self._transact(writes))

    def put(self, key: Key, **attributes: Any) -> None:
        """Set the scene: an item that is there already."""
        self.items[key] = {**attributes, "pk": key.pk, "sk": key.sk}

    @property
    def operations(self) -> list[str]:
        return [operation for operation, _ in self.calls]

    def _found(self, keys: Iterable[Key]) -> dict[Key, Item]:
        return {key: deepcopy(self.items[key]) for key in keys if key in self.items}

    def _write(self, write: Write) -> None:
        if isinstance(write, Check):
            raise TypeError("a check stands only inside a transaction")
        old = self.items.get(write.key)
        if not holds(write.condition, old):
            raise ConditionFailed(deepcopy(old))
        self._apply(write)

    def _transact(self, writes: Sequence[Write]) -> None:
        reasons = tuple(self._reason(write) for write in writes)
        if any(reasons):
            raise TransactionCancelled(reasons)
        for write in writes:
            self._apply(write)

    def _reason(self, write: Write) -> CancelledBecause | None:
        old = self.items.get(write.key)
        if holds(write.condition, old):
            return None
        return CancelledBecause("ConditionalCheckFailed", "The conditional request failed", deepcopy(old))

    def _apply(self, write: Write) -> None:
        match write:
            case Put():
                self._keep(write.key, write.item)
            case Update():
                self._keep(write.key, updated(self.items.get(write.key, {}), write))
            case Delete():
                self.items.pop(write.key, None)
            case Check():
                pass

    def _keep(self, key: Key, item: Item) -> None:
        if not key.pk or not key.sk:
            raise Permanent("the database refuses the request: a key attribute is empty")
        refuse_floats(item)
        self.items[key] = deepcopy({**item, "pk": key.pk, "sk": key.sk})


def holds(condition: Condition | None, item: Item | None) -> bool:
    """docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.OperatorsAndFunctions.html"""
    item = item or {}
    match condition:
        case None:
            return True
        case Exists(attribute):
            return attribute in item
        case Absent(attribute):
            return attribute not in item
        case Compare():
            return _compares(condition, item)
        case OneOf(attribute, values):
            return attribute in item and item[attribute] in values
        case AllOf(conditions):
            return all(holds(each, item) for each in conditions)
        case AnyOf(conditions):
            return any(holds(each, item) for each in conditions)


def _compares(compare: Compare, item: Item) -> bool:
    if compare.attribute not in item:
        return compare.operator == "<>"
    mine, theirs = item[compare.attribute], compare.value
    match compare.operator:
        case "=":
            return bool(mine == theirs)
        case "<>":
            return bool(mine != theirs)
    if isinstance(mine, str) != isinstance(theirs, str):
        return False
    orders = {"<": mine < theirs, "<=": mine <= theirs, ">": mine > theirs, ">=": mine >= theirs}
    return bool(orders[compare.operator])


def updated(item: Item, update: Update) -> dict[str, Any]:
    """The item after an update; every part of it reads the item as it was before."""
    after = {**item, **update.set}
    for name, number in update.add.items():
        after[name] = item.get(name, 0) + number
    for name, values in update.append.items():
        after[name] = [*item.get(name, ()), *values]
    for name in update.remove:
        after.pop(name, None)
    return after


def refuse_floats(value: Any) -> None:
    """boto3 refuses floats, because they would not stay exact."""
    match value:
        case float():
            raise TypeError("Float types are not supported. Use Decimal types instead.")
        case Mapping():
            refuse_floats(list(value.values()))
        case list() | tuple():
            for each in value:
                refuse_floats(each)


@dataclass
class FakeFiles:
    files: dict[str, bytes] = field(default_factory=dict)
    faults: Faults = field(default_factory=Faults)

    def put(self, name: str, content: bytes, content_type: str) -> str:
        self.faults.perform("put", lambda: self.files.update({name: content}))
        return f"memory://{name}"
