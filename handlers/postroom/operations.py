"""What a route takes and answers, said beside the code that does so: its contract is written from this.

What follows from taking a key or a body, and what the gateway answers by itself, is said once, by whoever
writes the contract. Here is what a route has of its own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import BaseModel, Field

Time = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
"""In a document: RFC 3339, in UTC, to the millisecond."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A successful answer. `document` is the type of its JSON body, None when it has none.

    `links` leads on: a route, and where in the body its `id` is found.
    """

    says: str
    document: Any = None
    headers: Sequence[str] = ()
    links: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of the query. `schema` is JSON Schema."""

    name: str
    schema: Mapping[str, Any]
    says: str
    required: bool = False


@dataclass(frozen=True, slots=True)
class Operation:
    """One route. `refusals` are what a request may be told though key, body and query are well-formed.

    `keyed` routes need an `Idempotency-Key`. `replays` says that a repeat is answered with the first answer.
    """

    route: str
    summary: str
    replies: Mapping[int, Reply]
    refusals: Mapping[int, str] = field(default_factory=dict)
    body: type[BaseModel] | None = None
    body_required: bool = True
    keyed: bool = False
    query: Sequence[Parameter] = ()
    headers: Sequence[str] = ()
    """Request headers that it heeds beyond those of its kind."""
    is_cancellation: bool = False
    """A `DELETE` after which it is still there, and says so."""


def operations_of(responder: object) -> Sequence[Operation]:
    """What a responder tells of its routes, in its attribute `operations`; nothing when it has none."""
    told: Sequence[Operation] = getattr(responder, "operations", ())
    return told
