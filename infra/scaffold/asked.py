"""What is asked for: a subscriber's name, its event, its kind; and whether it can be had."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from handlers.postroom.events import EventType
from infra.events import modules
from infra.ops.core.errors import Refused
from infra.scaffold.kinds import FORMS, Form, Kind

NAME = re.compile(r"(?=.{2,20}$)[a-z]+(-[a-z]+)*")
"""Words with dashes between, which file names spell with underscores and logical ids without. It is short,
because a queue's name, with the stack's in it, has at most 80 characters.
docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_CreateQueue.html"""


@dataclass(frozen=True, slots=True)
class EventSource:
    """An event type, and where the constant and the payload's model are to be imported from."""

    type: EventType[Any]
    constant: str
    module: str

    @property
    def name(self) -> str:
        return self.type.name

    @property
    def model(self) -> str:
        return self.type.model.__name__

    @property
    def is_at_home(self) -> bool:
        """Whether the module is the one that defines it, as far as its model tells."""
        return self.module == self.type.model.__module__

    @property
    def imports(self) -> Iterator[tuple[str, str]]:
        yield self.module, self.constant
        yield self.type.model.__module__, self.model


@dataclass(frozen=True, slots=True)
class Asked:
    """`since` is the date from which on events wait for it (00:00 UTC)."""

    name: str
    event: EventSource
    kind: Kind
    since: date

    @property
    def form(self) -> Form:
        return FORMS[self.kind]

    @property
    def module(self) -> str:
        """The name of its handler's module, without its package: `queue_second_look`."""
        return f"queue_{self._snake}"

    @property
    def test_module(self) -> str:
        return f"test_{self._snake}"

    @property
    def title(self) -> str:
        return self.name.replace("-", " ").title()

    @property
    def _snake(self) -> str:
        return self.name.replace("-", "_")

    @property
    def function(self) -> str:
        """What the author's function is called at first: `on_order_paid`."""
        return "on_" + re.sub(r"[^a-z0-9]+", "_", self.event.name.lower())

    def filled(self, text: str) -> str:
        """`text` with `{name}`, `{function}` and `{constant}` in it told; other braces stay."""
        values = {"name": self.name, "function": self.function, "constant": self.event.constant}
        return re.sub(r"\{(name|function|constant)\}", lambda found: values[found[1]], text)


def asked_for(name: str, on: str, kind: Kind, since: date, sources: Mapping[str, EventSource]) -> Asked:
    """`sources` are the events there are. Raises `Refused` for a name or an event that cannot be used."""
    if not NAME.fullmatch(name):
        rule = "2 to 20 characters, words of a to z with dashes between"
        raise Refused(f"{name!r} is no name for a subscriber: {rule}")
    if on not in sources:
        raise Refused(f"there is no event {on!r}. There is: {', '.join(sorted(sources))}")
    source = sources[on]
    if source.type.ordered:
        raise Refused(f"{on} goes through the FIFO topic: begin with a copy of one of its subscribers")
    return Asked(name, source, kind, since)


def event_sources(package: str = "handlers") -> Mapping[str, EventSource]:
    """Every event type that can be imported, by its name, from where it is defined."""
    found = sorted(_sources(package), key=lambda source: source.is_at_home)
    return {source.name: source for source in found}


def _sources(package: str) -> Iterator[EventSource]:
    entry = re.compile(rf"{package}\.\w+")
    for module in modules(package):
        for constant, value in vars(module).items():
            if isinstance(value, EventType) and not entry.fullmatch(module.__name__):
                yield EventSource(value, constant, module.__name__)
