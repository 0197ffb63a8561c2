"""What belongs to the example business: whatever imports it, is for it alone, or speaks of it by name."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from handlers.postroom.events import EventType
from infra import dashboard
from infra.adopt import template as templates
from infra.adopt.imports import Module, graph, modules

BUSINESS = "handlers.shop"
EXAMPLES = "docs/examples"
TOOL = "infra.adopt"
"""Goes as well: it has nothing left to do."""

_OWN = r"infra\.(?!(testkit|scaffold|ops)\b|local\.aws\b|checks\.(?!mutants)).+"
_HELPER = re.compile(rf"tests\.(?!(.+\.)?test_).+|{_OWN}")
"""What goes when only the example uses it. Elsewhere, what stands alone is for whoever adopts it."""
_MAY_NAME = re.compile(rf"tests\..+|{_OWN}")
"""What goes when it speaks of what goes. Elsewhere such a name is no more than an example."""
_FOR_WHAT_COMES = ("tests.path", "tests.unit.subscribers")
"""Packages that stay though they are empty: the adopter's tests go there."""
_EVENT_FILE = re.compile(r"(?P<type>.+)\.v\d+\.json")


@dataclass(frozen=True)
class Example:
    """The example business in the repository at `root`."""

    root: Path

    @cached_property
    def all(self) -> Mapping[str, Module]:
        return modules(self.root)

    @cached_property
    def imports(self) -> Mapping[str, set[str]]:
        return graph(self.all)

    @cached_property
    def template(self) -> str:
        return (self.root / "template.yaml").read_text(encoding="utf-8")

    @cached_property
    def modules(self) -> Mapping[str, str]:
        """What goes, each with the reason."""
        gone = dict.fromkeys(
            (name for name in self.all if _is_below(name, BUSINESS, TOOL)), "what is adopted from"
        )
        while new := dict(self._next(gone)):
            gone |= new
        return gone

    @cached_property
    def resources(self) -> set[str]:
        """Names in template.yaml that go."""
        entries = templates.entries(self.template)
        # The dashboard shows all there is: it is written anew from what is left.
        own = [each for each in entries if each.name != dashboard.RESOURCE]
        return templates.References(own).example_of(self._importers)

    @cached_property
    def events(self) -> set[str]:
        """Names of the event types that nothing that stays has. Imports what is deployed."""
        deployed = {name for name in self.all if _is_below(name, "handlers")}
        return _event_types(deployed) - _event_types(deployed - self._importers)

    @cached_property
    def _importers(self) -> set[str]:
        """The business and what imports it: all that goes of what is deployed."""
        gone = {name for name in self.all if _is_below(name, BUSINESS)}
        while new := {name for name in self.all.keys() - gone if self.imports[name] & gone}:
            gone |= new
        return gone

    def _next(self, gone: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        for name, module in self.all.items():
            if name not in gone and (reason := self._reason(module, gone)):
                yield name, reason

    def _reason(self, module: Module, gone: Mapping[str, str]) -> str | None:
        if wanted := self.imports[module.name] & gone.keys():
            return f"imports {min(wanted)}"
        if named := self._named(module, gone):
            return f"names {min(named)}"
        if module.is_package:
            return "nothing is left in it" if self._is_empty(module.name, gone) else None
        users = self._users(module.name)
        if users and users <= gone.keys() and _HELPER.fullmatch(module.name):
            return f"only {min(users)} uses it"
        return None

    def _users(self, name: str) -> set[str]:
        """What imports it, or runs it by its name."""
        users = {other for other, imported in self.imports.items() if name in imported}
        return (users | {other.name for other in self.all.values() if name in other.texts}) - {name}

    def _named(self, module: Module, gone: Mapping[str, str]) -> Set[str]:
        """Resources and modules that go and that it knows by name."""
        if not _MAY_NAME.fullmatch(module.name):
            return set()
        modules = {text for text in module.texts if "." in text and text in gone}
        files = {text for text in module.texts if text.startswith(EXAMPLES)}
        # A test of the engine takes any name for its event; what is no test means the example's.
        events = frozenset[str]() if _is_below(module.name, "tests") else self.events & module.texts
        return module.words & self._logical_ids | modules | files | events

    @cached_property
    def _logical_ids(self) -> set[str]:
        """Those that are no plain word: a text that has one in it means that resource."""
        resources = {each.name for each in templates.entries(self.template) if each.section == "Resources"}
        return {name for name in self.resources & resources if re.fullmatch(r"([A-Z][a-z]+){2,}", name)}

    def _is_empty(self, package: str, gone: Mapping[str, str]) -> bool:
        inside = {name for name in self.all if name.startswith(f"{package}.")}
        return bool(inside) and inside <= gone.keys() and package not in _FOR_WHAT_COMES

    def files(self) -> list[Path]:
        """Every file that goes, relative to the root."""
        found = {self.all[name].path.relative_to(self.root) for name in self.modules}
        found |= set(self._event_files()) | set(self._data(found))
        found |= {path.relative_to(self.root) for path in _files(self.root / EXAMPLES)}
        return sorted(found)

    def _event_files(self) -> Iterator[Path]:
        for place in ("docs/events", "tests/unit/events/published"):
            for path in (self.root / place).glob("*.json"):
                found = _EVENT_FILE.fullmatch(path.name)
                if found and found["type"] in self.events:
                    yield path.relative_to(self.root)

    def _data(self, modules: set[Path]) -> Iterator[Path]:
        """What else lies in a package that goes, and layers that no resource takes any more."""
        for package in {path.parent for path in modules if path.name == "__init__.py"}:
            yield from (path.relative_to(self.root) for path in _files(self.root / package))
        for layer in sorted((self.root / "infra/layers").glob("*")):
            if f"infra/layers/{layer.name}" not in templates.without(self.template, self.resources):
                yield from (path.relative_to(self.root) for path in _files(layer))


def _files(place: Path) -> Iterator[Path]:
    return (path for path in place.rglob("*") if path.is_file() and "__pycache__" not in path.parts)


def _is_below(name: str, *packages: str) -> bool:
    return any(name == package or name.startswith(f"{package}.") for package in packages)


def _event_types(names: Iterable[str]) -> set[str]:
    """Of all event types that these modules hold, the names."""
    values = (value for name in names for value in vars(importlib.import_module(name)).values())
    return {value.name for value in values if isinstance(value, EventType)}
