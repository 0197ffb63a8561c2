"""What was promised, and what was written, as it shows from outside."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from handlers.postroom.aws.expressions import from_attributes
from handlers.postroom.storage import Item


@dataclass(frozen=True, slots=True)
class Promised:
    """An event as it will be told; `born` is epoch seconds."""

    event: Mapping[str, Any]
    born: float

    @property
    def id(self) -> str:
        return str(self.event["id"])

    @property
    def type(self) -> str:
        return str(self.event["type"])

    @property
    def owner(self) -> str:
        return str(self.event["owner"])

    @property
    def subject(self) -> str:
        """The id of what it is about: `1001` of `order-1001`."""
        return str(self.event["aggregate"]).partition("-")[2]


@dataclass(frozen=True, slots=True)
class Change:
    """One change of the Shop table, in the order in which they were made; `kind` as the stream has it."""

    kind: str
    pk: str
    sk: str
    item: Item

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> "Change":
        change = record["dynamodb"]
        keys = from_attributes(change["Keys"])
        return cls(record["eventName"], keys["pk"], keys["sk"], from_attributes(change.get("NewImage", {})))
