"""Events as they were published."""

from typing import Any

from handlers.postroom.events import D, Event, EventType, read_envelope
from infra.events import PUBLISHED, ROOT, file_name


def body(event_type: EventType[Any], version: int) -> str:
    return (ROOT / PUBLISHED / file_name(event_type, version)).read_text(encoding="utf-8")


def published(event_type: EventType[D]) -> Event[D]:
    """One event of the type's present version."""
    return event_type.parse(read_envelope(body(event_type, event_type.version)))
