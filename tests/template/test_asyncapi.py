"""docs/asyncapi.yaml is what AsyncAPI's own schema calls a document of version 3."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator

from infra.contracts.files import ASYNCAPI
from tests.openapi import read_yaml
from tests.template.conftest import ROOT

SCHEMA = Path(__file__).parent / "asyncapi" / "3.0.0.json.gz"


@cache
def _validator() -> Draft7Validator:
    return Draft7Validator(json.loads(gzip.decompress(SCHEMA.read_bytes())))


@pytest.fixture
def document() -> dict[str, Any]:
    return read_yaml(ROOT / ASYNCAPI)


def faults(document: dict[str, Any]) -> list[str]:
    return [f"{list(error.absolute_path)}: {error.message}" for error in _validator().iter_errors(document)]


def test_the_events_document_is_valid_asyncapi(document: dict[str, Any]) -> None:
    assert faults(document) == []


def _first(document: dict[str, Any], *names: str) -> Any:
    found: Any = document
    for name in names:
        found = found[name]
    return next(iter(found.values()))


@pytest.mark.parametrize(
    "spoil",
    [
        lambda document: document.pop("info"),
        lambda document: document.update(asyncapi="2.6.0"),
        lambda document: _first(document, "operations").update(action="publish"),
        lambda document: _first(document, "operations").pop("channel"),
        lambda document: _first(document, "channels").update(adress="somewhere"),
        lambda document: _first(document, "components", "messages").update(payload=[]),
    ],
    ids=["no-info", "version-2", "unknown-action", "no-channel", "misspelled", "payload-is-no-schema"],
)
def test_what_is_no_asyncapi_is_seen(
    document: dict[str, Any], spoil: Callable[[dict[str, Any]], object]
) -> None:
    spoil(document)

    assert faults(document) != []
