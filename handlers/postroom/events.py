"""Events: facts that happened, told once, with ids and immutable facts only.

Anything that can change or is personal stays in its entity and is loaded by whoever needs it.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Annotated, Any, Generic, TypeVar

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from . import strict_json
from .errors import NewerVersion, Unreadable
from .storage import Key

Upcast = Callable[[dict[str, Any]], dict[str, Any]]
"""A pure function from the payload of one version to that of the next, both as parsed JSON."""

D = TypeVar("D", bound=BaseModel)
Id = Annotated[str, Field(min_length=1, max_length=256, pattern=r"^[!-~]+$")]


class Envelope(BaseModel):
    """An event whose payload is not yet validated: enough to know which job it is."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    id: Id
    type: Id
    version: Annotated[int, Field(ge=1, strict=True)]
    aggregate: Id
    sequence: Annotated[int, Field(ge=1, strict=True)]
    time: AwareDatetime
    owner: Annotated[str, Field(max_length=256, pattern=r"^[ -~]+$")]
    trace: str = ""
    data: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Event(Generic[D]):
    """One fact. `sequence` counts the events of its aggregate from 1; `owner` is the caller it belongs to."""

    id: str
    type: str
    version: int
    aggregate: str
    sequence: int
    time: datetime
    owner: str
    trace: str
    data: D

    def to_json(self) -> str:
        """The exact text that is stored, published and delivered."""
        return strict_json.dumps(
            {
                "id": self.id,
                "type": self.type,
                "version": self.version,
                "aggregate": self.aggregate,
                "sequence": self.sequence,
                "time": utc_text(self.time),
                "owner": self.owner,
                "trace": self.trace,
                "data": self.data.model_dump(mode="json", by_alias=True),
            }
        )


@dataclass(frozen=True, slots=True)
class EventType(Generic[D]):
    """A kind of event: its name (`order.paid`), version and payload model.

    `born_with_entity` says where its row is: the entity that it created (one item is both), or an item of
    its own beside the entity. `repeats` says that it can happen to one aggregate again and again: its
    sequence number is then part of its id. `ordered` sends it through the FIFO topic, by aggregate. `direct`
    says that it is sent straight to the queue of its only subscriber: it has no outbox row and no topic.
    `upcasts` brings older payloads up, each by one version: `{1: fn}` reads version 1 as version 2.
    """

    name: str
    version: int
    model: type[D]
    born_with_entity: bool = True
    repeats: bool = False
    ordered: bool = False
    direct: bool = False
    upcasts: Mapping[int, Upcast] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        if set(self.upcasts) != set(range(self.oldest, self.version)) or self.oldest < 1:
            raise ValueError(
                f"the upcasts of {self.name} must lead, one by one, up to version {self.version}"
            )

    @property
    def oldest(self) -> int:
        """The oldest version that can be read."""
        return self.version - len(self.upcasts)

    @property
    def kind(self) -> str:
        return self.name.partition(".")[0]

    @property
    def verb(self) -> str:
        return self.name.partition(".")[2]

    @property
    def names(self) -> frozenset[str]:
        """The event types that a subscriber of this one is sent."""
        return frozenset({self.name})

    def event_id(self, aggregate: str, sequence: int = 1) -> str:
        """`order-1001` → `order-1001-paid`, or `account-42` → `account-42-credited.7` for one that repeats.

        Derived, so that every publication of the fact has the same id.
        """
        return f"{aggregate}-{self.verb}" + (f".{sequence}" if self.repeats else "")

    def type_of(self, event_id: str) -> "EventType[D] | None":
        """Itself, when the id is one of its events'."""
        return self if self._split(event_id) else None

    def row_key(self, event_id: str) -> Key:
        """The item of the Shop table that carries the event. Raises ValueError for another type's id."""
        split = self._split(event_id)
        if split is None:
            raise ValueError(f"{event_id!r} is no {self.name} event")
        aggregate, occurrence = split
        return Key("shop", aggregate, "entity" if self.born_with_entity else f"event-{occurrence}")

    def _split(self, event_id: str) -> tuple[str, str] | None:
        """The aggregate and the occurrence (`paid`, `credited.7`) that an id of this type names."""
        number = r"\.[1-9][0-9]*" if self.repeats else ""
        shape = rf"({re.escape(self.kind)}-.+)-({re.escape(self.verb)}{number})"
        found = re.fullmatch(shape, event_id)
        return (found[1], found[2]) if found else None

    def new(
        self, aggregate: str, data: D, *, sequence: int, time: datetime, owner: str, trace: str
    ) -> Event[D]:
        return Event(
            id=self.event_id(aggregate, sequence),
            type=self.name,
            version=self.version,
            aggregate=aggregate,
            sequence=sequence,
            time=time,
            owner=owner,
            trace=trace,
            data=data,
        )

    def parse(self, envelope: Envelope) -> Event[D]:
        """The event as this version tells it, whichever version it was published in.

        Raises `Unreadable` for another type, a version that no upcast leads from or a bad payload, and
        `NewerVersion`, which may pass, for a version from the future.
        """
        if envelope.type != self.name:
            raise Unreadable(f"event type {envelope.type!r} came where {self.name!r} was expected")
        fields = {name: getattr(envelope, name) for name in Envelope.model_fields}
        data = _validated(self.model, self._upcast(envelope), "data.")
        return Event(**{**fields, "version": self.version, "data": data})

    def _upcast(self, envelope: Envelope) -> dict[str, Any]:
        told = f"version {envelope.version} of {self.name}"
        known = str(self.version) if self.oldest == self.version else f"{self.oldest} to {self.version}"
        if envelope.version > self.version:
            raise NewerVersion(f"{told} is newer than the code here (known: {known})")
        if envelope.version < self.oldest:
            raise Unreadable(f"{told} is too old to be read here (known: {known})")
        data = envelope.data
        for version in range(envelope.version, self.version):
            data = self.upcasts[version](data)
        return data


@dataclass(frozen=True, slots=True)
class EventFamily(Generic[D]):
    """Several event types of one kind of aggregate, for a subscriber that needs them all, in order."""

    name: str
    types: tuple[EventType[Any], ...]

    @property
    def names(self) -> frozenset[str]:
        return frozenset(each.name for each in self.types)

    def type_of(self, event_id: str) -> EventType[Any] | None:
        return next((each for each in self.types if each.type_of(event_id)), None)

    def row_key(self, event_id: str) -> Key:
        """Raises ValueError for an id of none of its types."""
        event_type = self.type_of(event_id)
        if event_type is None:
            raise ValueError(f"{event_id!r} is no event of {self.name}")
        return event_type.row_key(event_id)

    def parse(self, envelope: Envelope) -> Event[D]:
        """Validate the payload by its own type. Raises like `EventType.parse`."""
        for each in self.types:
            if each.name == envelope.type:
                return each.parse(envelope)
        raise Unreadable(f"event type {envelope.type!r} came where one of {sorted(self.names)} was expected")


def utc_text(time: datetime) -> str:
    """`2026-11-30T12:00:00.000Z`: RFC 3339, in UTC, to the millisecond."""
    return time.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def read_envelope(text: str) -> Envelope:
    """Read an event's outer part. Raises `Unreadable` naming the field and the reason."""
    value = strict_json.loads(text)
    if not isinstance(value, dict):
        raise Unreadable("an event is a JSON object")
    if value.get("Type") == "Notification" and "TopicArn" in value:
        raise Unreadable("an SNS envelope around the event: the subscription lacks RawMessageDelivery")
    return _validated(Envelope, value, "")


M = TypeVar("M", bound=BaseModel)


def _validated(model: type[M], value: object, prefix: str) -> M:
    try:
        return model.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = prefix + ".".join(str(part) for part in first["loc"])
        raise Unreadable(f"{where}: {first['msg']}") from None
