"""Events are contracts: what was published once can be read for ever, and no change goes unnoticed."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from pydantic import BaseModel

from handlers.postroom.events import EventType, read_envelope
from infra.events import PUBLISHED, ROOT, SCHEMAS, event_types, file_name, problems, schema, write_new

TYPES = {each.name: each for each in event_types()}
BODIES = {path.stem: path.read_text(encoding="utf-8") for path in sorted((ROOT / PUBLISHED).glob("*.json"))}
body_by_body = pytest.mark.parametrize("name", BODIES)


class Shipped(BaseModel):
    order_id: str


class ShippedBy(BaseModel):
    order_id: str
    carrier: str


SHIPPED = EventType("order.shipped", 1, Shipped)
SHIPPED_BY = EventType(
    "order.shipped", 2, ShippedBy, upcasts={1: lambda data: {**data, "carrier": "unknown"}}
)


def test_every_version_has_its_schema_and_a_published_body() -> None:
    assert list(problems(TYPES.values())) == []


@body_by_body
def test_what_was_ever_published_can_be_read(name: str) -> None:
    envelope = read_envelope(BODIES[name])

    event = TYPES[envelope.type].parse(envelope)

    assert name == f"{envelope.type}.v{envelope.version}"
    assert event.version == TYPES[envelope.type].version


@body_by_body
def test_a_version_that_is_still_published_is_written_as_it_was(name: str) -> None:
    envelope = read_envelope(BODIES[name])
    event_type = TYPES[envelope.type]

    if envelope.version == event_type.version:
        assert event_type.parse(envelope).to_json() == BODIES[name]


@body_by_body
def test_what_was_published_fits_its_schema(name: str) -> None:
    contract = json.loads((ROOT / SCHEMAS / f"{name}.json").read_text(encoding="utf-8"))

    jsonschema.validate(json.loads(BODIES[name]), contract)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda event: event.update(version=2), id="another-version"),
        pytest.param(lambda event: event.update(type="order.lost"), id="another-type"),
        pytest.param(lambda event: event.pop("owner"), id="no-owner"),
        pytest.param(lambda event: event["data"].pop("order_id"), id="a-field-is-missing"),
        pytest.param(lambda event: event["data"].update(order_id=7), id="a-field-of-another-type"),
    ],
)
def test_the_schema_refuses_what_is_no_such_event(change: Callable[[Any], Any]) -> None:
    event = {**json.loads(BODIES["delivery.due.v1"]), "type": "order.shipped", "data": {"order_id": "1001"}}
    jsonschema.validate(event, schema(SHIPPED))

    change(event)

    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(event, schema(SHIPPED))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository whose one event, in its first version, has been published."""
    write_new([SHIPPED], tmp_path)
    (tmp_path / PUBLISHED).mkdir(parents=True)
    (tmp_path / PUBLISHED / file_name(SHIPPED, 1)).write_text("{}", encoding="utf-8")
    assert list(problems([SHIPPED], tmp_path)) == []
    return tmp_path


def test_a_changed_model_without_a_new_version_is_caught_and_never_written_over(root: Path) -> None:
    changed = EventType("order.shipped", 1, ShippedBy)

    written = write_new([changed], root)

    assert written == []
    (problem,) = problems([changed], root)
    assert problem.startswith("docs/events/order.shipped.v1.json: ShippedBy has changed.")


def test_a_new_version_needs_its_own_schema_and_body_beside_the_old_ones(root: Path) -> None:
    assert [problem.partition(":")[0] for problem in problems([SHIPPED_BY], root)] == [
        "docs/events/order.shipped.v2.json",
        "tests/unit/events/published/order.shipped.v2.json",
    ]

    assert write_new([SHIPPED_BY], root) == [root / SCHEMAS / "order.shipped.v2.json"]


def test_the_schema_and_body_of_an_old_version_must_stay(root: Path) -> None:
    (root / SCHEMAS / file_name(SHIPPED, 1)).unlink()
    (root / PUBLISHED / file_name(SHIPPED, 1)).unlink()

    found = " ".join(problems([SHIPPED_BY], root))

    assert "docs/events/order.shipped.v1.json: is missing: it was published" in found
    assert "published/order.shipped.v1.json: is missing" in found


def test_a_schema_that_no_event_has_is_caught(root: Path) -> None:
    assert list(problems([], root)) == [
        "docs/events/order.shipped.v1.json: no event type here has this version",
        "tests/unit/events/published/order.shipped.v1.json: no event type here has this version",
    ]
