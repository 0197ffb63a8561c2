"""What schemathesis is told."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, Field

from handlers.postroom.operations import Operation, Reply
from infra.fuzz.settings import callers, configuration


class Line(BaseModel):
    sku: str = Field(examples=["tea"])


class Order(BaseModel):
    note: str
    coupon: str = Field(examples=["half", "free"])
    lines: list[Line]


ORDER = Operation(
    "POST /orders", "Order", {202: Reply("Accepted.")}, {402: "Declined."}, body=Order, keyed=True
)
SHOW = Operation("GET /orders/{id}", "Show", {200: Reply("Shown.")}, {404: "None."})
CANCEL = Operation("DELETE /orders/{id}", "Cancel", {200: Reply("Done.")}, is_cancellation=True)


@pytest.fixture
def told() -> dict[str, Any]:
    return tomllib.loads(configuration([ORDER, SHOW, CANCEL], Path("/callers.json")))


def test_the_callers_are_peers_and_the_first_one_asks(told: dict[str, Any]) -> None:
    entries = json.loads(callers({"bola": "t1", "alice": "t2"}))["auth"]

    assert told["auth"]["wfc"] == {"path": "/callers.json", "peers": ["alice", "bola"]}
    assert [entry["name"] for entry in entries] == ["bola", "alice"]
    assert entries[0]["fixedHeaders"] == [{"name": "Authorization", "value": "Bearer t1"}]


def test_it_goes_on_after_a_failure_because_the_next_one_may_be_another(told: dict[str, Any]) -> None:
    assert told["continue-on-failure"] is True


def test_a_well_formed_request_may_be_refused_only_as_its_route_says(told: dict[str, Any]) -> None:
    order, show, _ = told["operations"]

    assert order["include-operation-id"] == "post-orders"
    assert order["checks"]["positive_data_acceptance"]["expected-statuses"] == ["202", "402", "401"]
    assert show["checks"]["positive_data_acceptance"]["expected-statuses"] == ["200", "404", "401"]


def test_what_is_cancelled_may_still_be_looked_at(told: dict[str, Any]) -> None:
    order, show, cancel = (each["checks"] for each in told["operations"])

    assert show["use_after_free"] == cancel["use_after_free"] == {"enabled": False}
    assert "use_after_free" not in order


def test_half_of_the_requests_name_what_the_examples_name(told: dict[str, Any]) -> None:
    bound = told["operations"][0]["parameters"]

    assert bound == {
        "body.coupon": {"dictionary": "post-orders.body.coupon", "probability": 0.5},
        "body.lines[*].sku": {"dictionary": "post-orders.body.lines[*].sku", "probability": 0.5},
    }
    assert told["dictionaries"]["post-orders.body.coupon"] == {"values": ["half", "free"]}
    assert told["dictionaries"]["post-orders.body.lines[*].sku"] == {"values": ["tea"]}
