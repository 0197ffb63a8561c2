"""A parcel's way through the whole template: accepted, published, worked on, told; with the rights it has."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from infra.checks.grants import Usage, differences
from infra.checks.template import Template
from infra.local.aws import LocalAws, ManualClock
from infra.local.driving import run_until_idle
from infra.local.http_messages import HttpAnswer
from infra.local.stack import Options, Stack

TEMPLATE = Path(__file__).parents[2] / "template.yaml"
HEADERS = {"content-type": "application/json", "idempotency-key": "parcel-1"}
PARCEL = {"to": "Ada, 1 Broad Street, Lagos", "grams": 12_000}
NAMED = ("ShopTable", "JobsTable", "EventsTopic", "NoticesQueue", "ParcelsLogs", "NoticesLogs")


class Depot:
    """The stack on a clock of its own."""

    def __init__(self) -> None:
        self.clock = ManualClock(datetime(2026, 12, 1, tzinfo=UTC).timestamp())
        aws = LocalAws(self.clock)
        self.usage = Usage(aws)
        self.stack = Stack.from_template(TEMPLATE, aws, Options(runner=self.usage.runner))

    def send(self, parcel: object = PARCEL) -> HttpAnswer:
        return self.stack.call("POST", "/parcels", HEADERS, json.dumps(parcel))

    def wait(self) -> None:
        run_until_idle(self.stack, self.clock)


@pytest.fixture
def depot() -> Depot:
    return Depot()


def test_a_parcel_is_accepted_and_its_notice_posted(depot: Depot) -> None:
    accepted = depot.send()
    depot.wait()
    status = depot.stack.call("GET", accepted.headers["location"]).json

    assert accepted.status == 202
    assert status["state"] == "completed"
    assert [job["result"] for job in status["jobs"]] == [{"carriers": 2}]


def test_the_same_request_again_is_the_same_parcel(depot: Depot) -> None:
    first, second = depot.send(), depot.send()

    assert (first.status, first.body) == (second.status, second.body)


def test_a_parcel_that_nobody_can_carry_is_refused(depot: Depot) -> None:
    refused = depot.send({**PARCEL, "grams": 31_501})

    assert refused.status == 422
    assert refused.json["errors"][0]["field"] == "grams"


def test_what_is_not_there_is_a_problem(depot: Depot) -> None:
    answer = depot.stack.call("GET", "/jobs/parcel-none-sent")

    assert (answer.status, answer.json["status"]) == (404, 404)


def test_its_functions_ask_for_nothing_that_they_are_not_granted(depot: Depot) -> None:
    depot.send()
    depot.wait()
    template = Template.load(TEMPLATE)
    names = {depot.stack.ref(name): name for name in NAMED}
    functions = ("ParcelsFunction", "NoticesFunction")

    found = differences(template, {name: depot.usage.of(name, names) for name in functions})

    assert [each for name in functions for each in found[name] if each.startswith("lacks")] == []
