"""A parcel: what a client asks for, the item it becomes, and the event it is born with."""

from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from ..postroom.acceptance import Birth, Intent, Work
from ..postroom.bodies import Body
from ..postroom.events import EventType
from ..postroom.storage import Key
from ..postroom.texts import Filled

KIND = "parcel"


class ParcelSent(BaseModel):
    """Ids and facts that never change. Another member would be another version."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    parcel: str
    grams: Annotated[int, Field(ge=1)]


PARCEL_SENT = EventType("parcel.sent", 1, ParcelSent)


class Parcel(Body):
    """The body of `POST /parcels`; `grams` is its weight."""

    to: Annotated[Filled, Field(max_length=200)]
    grams: Annotated[int, Field(ge=1, le=31_500)]


def parcel_key(parcel_id: str) -> Key:
    return Key("shop", f"{KIND}-{parcel_id}", "entity")


def _parcel(intent: Intent[Parcel], _settled: None, now: datetime) -> Birth:
    event = PARCEL_SENT.new(
        f"{KIND}-{intent.id}",
        ParcelSent(parcel=intent.id, grams=intent.payload.grams),
        sequence=1,
        time=now,
        owner=intent.caller,
        trace=intent.trace,
    )
    return Birth(event, {"to": intent.payload.to, "grams": intent.payload.grams})


SEND: Work[Parcel, None] = Work(
    route="POST /parcels",
    model=Parcel,
    key=parcel_key,
    settle=lambda _intent: None,
    undo=lambda _settled, _winner: None,
    build=_parcel,
    summary="Send a parcel",
)
