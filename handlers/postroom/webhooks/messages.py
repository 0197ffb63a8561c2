"""A message to one webhook: an event like any other, so that its delivery is a job like any other.

It holds ids and facts; the URL and the secrets are loaded when it is delivered. The body is made from these
facts alone, so that every retry sends the same bytes under the same id.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from .. import outbox, strict_json
from ..acceptance import Birth
from ..events import Event, EventType, utc_text
from ..idempotency import derived_id
from ..jobs import RETENTION_SECONDS
from ..retries import Jitter, RetryPolicy
from ..storage import Key, Put

KIND = "delivery"
SUBSCRIBER = "webhooks"
PING = "webhook.ping"

_MINUTE, _HOUR = 60, 3600
SCHEDULE = RetryPolicy(
    attempts=10,
    steps_ms=tuple(
        1000 * seconds
        for seconds in (
            5,
            5 * _MINUTE,
            30 * _MINUTE,
            2 * _HOUR,
            5 * _HOUR,
            10 * _HOUR,
            14 * _HOUR,
            20 * _HOUR,
            24 * _HOUR,
        )
    ),
    jitter=Jitter.LATER,
)
"""The specification's example: ten attempts in 75.5 hours, each wait up to a tenth longer.
Source: Standard Webhooks 1.0, "Deliverability and reliability"."""


class DeliveryDue(BaseModel):
    """`kind` is the type that the receiver is told, `subject` the id of what it is about."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, alias_generator=to_camel, populate_by_name=True
    )

    webhook_id: Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[a-z0-9]+$")]
    kind: Annotated[str, Field(max_length=64, pattern=r"^[a-z]+\.[a-z]+$")]
    subject: Annotated[str, Field(min_length=1, max_length=400, pattern=r"^[!-~]+$")]


DELIVERY_DUE = EventType("delivery.due", 1, DeliveryDue, born_with_entity=False)


class Ended(NamedTuple):
    """A job that has come to its end: `completed`, `dead` or `expired`. `at` is epoch milliseconds."""

    job_id: str
    state: str
    owner: str
    at: int

    @property
    def identity(self) -> str:
        """A dead job can be reopened and die again; any other end is for good, whichever row told of it."""
        return f"{self.job_id}#{self.state}" + (f"#{self.at}" if self.state == "dead" else "")


def message_key(message_id: str) -> Key:
    return DELIVERY_DUE.row_key(DELIVERY_DUE.event_id(f"{KIND}-{message_id}"))


def ending_of(ended: Ended, webhook_id: str) -> Put:
    """The message that tells one webhook of it; the same one however often the same end is seen."""
    message_id = derived_id(ended.owner, f"webhook {webhook_id}", ended.identity)
    data = DeliveryDue(webhook_id=webhook_id, kind=f"job.{ended.state}", subject=ended.job_id)
    at = datetime.fromtimestamp(ended.at / 1000, UTC)
    birth = birth_of(message_id, data, owner=ended.owner, time=at, trace="")
    item = {**birth.attributes, **outbox.attributes(birth.event), "owner": ended.owner}
    return Put(message_key(message_id), item)


def birth_of(message_id: str, data: DeliveryDue, *, owner: str, time: datetime, trace: str) -> Birth:
    event = DELIVERY_DUE.new(f"{KIND}-{message_id}", data, sequence=1, time=time, owner=owner, trace=trace)
    return Birth(event, {"expires": int(time.timestamp()) + RETENTION_SECONDS})


def body_of(event: Event[DeliveryDue]) -> bytes:
    """`type`, `timestamp` of the fact and `data`, as the specification recommends; ids and no more."""
    told = {"type": event.data.kind, "timestamp": utc_text(event.time), "data": _data(event.data)}
    return strict_json.dumps(told).encode()


def _data(data: DeliveryDue) -> Mapping[str, Any]:
    if data.kind == PING:
        return {"id": data.subject}
    event_id, _, _ = data.subject.partition(":")
    return {"id": data.subject, "event": event_id, "state": data.kind.removeprefix("job.")}
