"""Key schemas, and the rules for what a key may be.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/HowItWorks.NamingRulesDataTypes.html
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from infra.local.aws.dynamodb.values import Item, Scalar, Value, bad_parameter, invalid, kind_of, scalar, size

# Partition and sort value as they sort; the sort value is "" where the schema has no sort key.
Key = tuple[Scalar, Scalar]

_MAX_BYTES = {"HASH": 2048, "RANGE": 1024}
_NO_MATCH = "The provided key element does not match the schema"


@dataclass(frozen=True)
class KeySchema:
    """The attributes that make a key, and their types (`S`, `N`, `B`)."""

    hash: str
    range: str | None
    kinds: Mapping[str, str]

    @classmethod
    def parse(cls, schema: Sequence[Mapping[str, str]], kinds: Mapping[str, str]) -> "KeySchema":
        """From the API's KeySchema and the types that AttributeDefinitions give."""
        roles = {element["KeyType"]: element["AttributeName"] for element in schema}
        missing = [name for name in roles.values() if name not in kinds]
        if missing:
            raise bad_parameter(
                f"Some index key attributes are not defined in AttributeDefinitions. Keys: {missing}"
            )
        return cls(roles["HASH"], roles.get("RANGE"), {name: kinds[name] for name in roles.values()})

    @cached_property
    def names(self) -> tuple[str, ...]:
        return (self.hash,) if self.range is None else (self.hash, self.range)

    def shown(self) -> list[dict[str, str]]:
        return [
            {"AttributeName": name, "KeyType": kind}
            for name, kind in ((self.hash, "HASH"), (self.range, "RANGE"))
            if name is not None
        ]

    def of_item(self, item: Item) -> Key:
        """The key of a whole item; ValidationException when it has none or a wrong one."""
        for name in self.names:
            if name not in item:
                raise bad_parameter(f"Missing the key {name} in the item")
            if kind_of(item[name]) != self.kinds[name]:
                raise bad_parameter(
                    f"Type mismatch for key {name} expected: {self.kinds[name]} actual: {kind_of(item[name])}"
                )
        return self._checked(item)

    def of_key(self, key: Item) -> Key:
        """The key given as a request's `Key`: exactly the key attributes."""
        if key.keys() != self.kinds.keys() or any(
            kind_of(value) != self.kinds[name] for name, value in key.items()
        ):
            raise invalid(_NO_MATCH)
        return self._checked(key)

    def of_entry(self, item: Item) -> Key | None:
        """The key in an index, or None for an item that has no entry there (a sparse index)."""
        if self.hash not in item or (self.range is not None and self.range not in item):
            return None
        return self._key(item)

    def check_entry(self, item: Item, index: str) -> None:
        """Index keys that are present have the right type, and are not empty."""
        for name in self.names:
            if name not in item:
                continue
            actual = kind_of(item[name])
            if actual != self.kinds[name]:
                raise bad_parameter(
                    f"Type mismatch for Index Key {name} Expected: {self.kinds[name]} Actual: {actual} "
                    f"IndexName: {index}"
                )
            if actual != "N" and not item[name][actual]:
                raise bad_parameter(
                    "A value specified for a secondary index key is not supported. The AttributeValue for a "
                    "key attribute cannot contain an empty string value. "
                    f"IndexName: {index}, IndexKey: {name}"
                )

    def attributes(self, item: Item) -> Item:
        return {name: item[name] for name in self.names}

    def _checked(self, item: Item) -> Key:
        for name, role in zip(self.names, _MAX_BYTES, strict=False):
            _check_size(name, item[name], _MAX_BYTES[role])
        return self._key(item)

    def _key(self, item: Item) -> Key:
        return scalar(item[self.hash]), "" if self.range is None else scalar(item[self.range])


def _check_size(name: str, value: Value, most: int) -> None:
    if kind_of(value) == "N":
        return
    length = size(value)
    if length == 0:
        raise bad_parameter(
            "The AttributeValue for a key attribute cannot contain an empty string value. Key: " + name
        )
    if length > most:
        raise bad_parameter(
            f"Size of hashkey or rangekey has exceeded the maximum size limit of {most} bytes"
        )


def attribute_kinds(definitions: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    return {definition["AttributeName"]: definition["AttributeType"] for definition in definitions}
