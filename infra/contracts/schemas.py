"""JSON Schemas of models and documents, as a document's `components` hold them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from pydantic import TypeAdapter

from infra.events import WithoutTitles

REF = "#/components/schemas/{model}"
Mode = Literal["validation", "serialization"]
"""What is taken, or what is told."""


class Schemas:
    """The schemas of some types: how each is referred to, and the components that it needs."""

    def __init__(self, types: Iterable[tuple[Any, Mode]]) -> None:
        wanted = list(dict.fromkeys(types))
        self._of, definitions = TypeAdapter.json_schemas(
            [(each, mode, TypeAdapter(each)) for each, mode in wanted],
            ref_template=REF,
            schema_generator=WithoutTitles,
        )
        self.components: dict[str, Any] = dict(sorted(definitions.get("$defs", {}).items()))

    def of(self, wanted: Any, mode: Mode) -> dict[str, Any]:
        return dict(self._of[wanted, mode])
