"""Events: facts that happened, told once, with ids and immutable facts only.

Anything that can change or is personal stays in its entity and is loaded by whoever needs it.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, Generic, TypeVar

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from . import strict_json
from .errors import Unreadable
from .storage import Key

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
    its own beside the entity.
    """

    name: str
    version: int
    model: type[D]
    born_with_entity: bool = True

    @property
    def kind(self) -> str:
        return self.name.partition(".")[0]

    @property
    def verb(self) -> str:
        return self.name.partition(".")[2]

    def event_id(self, aggregate: str) -> str:
        """`order-1001` → `order-1001-paid`: derived, so that every repeat of the fact has the same id."""
        return f"{aggregate}-{self.verb}"

    def row_key(self, event_id: str) -> Key:
        """The item of the Shop table that carries the event."""
        aggregate = event_id.removesuffix(f"-{self.verb}")
        return Key("shop", aggregate, "entity" if self.born_with_entity else f"event-{self.verb}")

    def new(
        self, aggregate: str, data: D, *, sequence: int, time: datetime, owner: str, trace: str
    ) -> Event[D]:
        return Event(
            id=self.event_id(aggregate),
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
        """Validate the payload. Raises `Unreadable` for another type, an unknown version or a bad payload."""
        if envelope.type != self.name:
            raise Unreadable(f"event type {envelope.type!r} came where {self.name!r} was expected")
        if envelope.version != self.version:
            raise Unreadable(
                f"version {envelope.version} of {self.name} is unknown here (known: {self.version})"
            )
        fields = {name: getattr(envelope, name) for name in Envelope.model_fields if name != "data"}
        return Event(**fields, data=_validated(self.model, envelope.data, "data."))


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
