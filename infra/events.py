"""Events as contracts: the JSON Schema of each version, and a body of each as it was published.

Who publishes and who reads are deployed apart, and a message may lie in a queue for weeks. So a published
version is never changed: another shape is another version, with an upcast from the one before.
"""

from __future__ import annotations

import importlib
import json
import pkgutil
import sys
from collections.abc import Collection, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema

from handlers.postroom.events import Envelope, EventType

ROOT = Path(__file__).parent.parent
SCHEMAS = Path("docs/events")
PUBLISHED = Path("tests/unit/events/published")
"""Bodies as they went out, one a version: whatever becomes of the code, it must be able to read them."""


def modules(package: str) -> Iterator[ModuleType]:
    """Every module of a package, imported: an entry touches nothing when it is."""
    path = importlib.import_module(package).__path__
    for found in pkgutil.walk_packages(path, f"{package}."):
        yield importlib.import_module(found.name)


def event_types(package: str = "handlers") -> list[EventType[Any]]:
    """Every event type that a module of the package holds, in the order of their names."""
    found = {
        value.name: value
        for module in modules(package)
        for value in vars(module).values()
        if isinstance(value, EventType)
    }
    return [found[name] for name in sorted(found)]


class WithoutTitles(GenerateJsonSchema):
    """A field's title would be its name again, in another spelling."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002
        return False


def file_name(event_type: EventType[Any], version: int) -> str:
    return f"{event_type.name}.v{version}.json"


def schema(event_type: EventType[Any]) -> dict[str, Any]:
    """The whole message as it is published in the type's present version, envelope included.

    In the dialect of json-schema.org/draft/2020-12, as pydantic writes it.
    """
    envelope = schema_of(Envelope)["properties"]
    payload = schema_of(event_type.model)
    definitions = payload.pop("$defs", {})
    said = {"type": {"const": event_type.name}, "version": {"const": event_type.version}, "data": payload}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"{event_type.name}, version {event_type.version}",
        "type": "object",
        "properties": {**envelope, **said},
        "required": list(envelope),
        **({"$defs": definitions} if definitions else {}),
    }


def schema_text(event_type: EventType[Any]) -> str:
    return json.dumps(schema(event_type), indent=2, ensure_ascii=False) + "\n"


def problems(types: Collection[EventType[Any]], root: Path = ROOT) -> Iterator[str]:
    """Where a contract is missing or broken: each with what is wrong and what to do about it."""
    expected = {file_name(each, version) for each in types for version in range(1, each.version + 1)}
    for each in types:
        yield from _missing(root, each)
        path = root / SCHEMAS / file_name(each, each.version)
        if path.is_file() and path.read_text(encoding="utf-8") != schema_text(each):
            yield f"{_said(path, root)}: {each.model.__name__} has changed. {_NEVER_CHANGED}"
    for folder in (SCHEMAS, PUBLISHED):
        for path in sorted((root / folder).glob("*.json")):
            if path.name not in expected:
                yield f"{_said(path, root)}: no event type here has this version"


def write_new(types: Collection[EventType[Any]], root: Path = ROOT) -> list[Path]:
    """Write the schemas that are not there yet; those that are stay as they are."""
    new = {
        path: each for each in types if not (path := root / SCHEMAS / file_name(each, each.version)).exists()
    }
    for path, event_type in new.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(schema_text(event_type), encoding="utf-8")
    return list(new)


_NEVER_CHANGED = (
    "A published version stays as it is: give the new shape a version of its own, with an upcast. "
    "If this one was never published: delete the file, and make events"
)


def _missing(root: Path, event_type: EventType[Any]) -> Iterator[str]:
    for version in range(1, event_type.version + 1):
        name = file_name(event_type, version)
        if not (root / SCHEMAS / name).is_file():
            how = "make events" if version == event_type.version else "it was published, so it stays"
            yield f"{SCHEMAS / name}: is missing: {how}"
        if not (root / PUBLISHED / name).is_file():
            yield f"{PUBLISHED / name}: is missing: put a body there as it is published"


def schema_of(model: type[BaseModel]) -> dict[str, Any]:
    return model.model_json_schema(mode="serialization", by_alias=True, schema_generator=WithoutTitles)


def _said(path: Path, root: Path) -> str:
    return str(path.relative_to(root))


def main() -> int:
    types = event_types()
    for path in write_new(types):
        print(f"{_said(path, ROOT)}: written")
    left = list(problems(types))
    print("\n".join(left) or "every event version has its schema")
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
