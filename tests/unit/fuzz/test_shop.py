"""The local run as the fuzzer meets it."""

from collections.abc import Iterator

import pytest

from handlers.postroom.aws.deployment import Deployment
from handlers.postroom.aws.tables import DynamoStore
from infra.fuzz.plants import crash, misshapen, none, undocumented
from infra.fuzz.settings import CALLERS
from infra.fuzz.shop import AUDIENCE, FuzzedRun, furnish
from infra.local.client import Answer, Client
from infra.local.http_messages import HttpAnswer, HttpRequest
from tests.openapi import published


@pytest.fixture(scope="module")
def run() -> Iterator[FuzzedRun]:
    run = FuzzedRun()
    run.start()
    yield run
    run.stop()


def campaign(run: FuzzedRun, caller: str) -> Answer:
    client = Client(run.urls.api, run.stack.token(caller))
    answer = client.start_campaign(f"k-{caller}", {"audience": AUDIENCE, "subject": "News", "text": "Read."})
    client.close()
    return answer


def test_each_caller_has_what_the_contract_s_examples_name(run: FuzzedRun) -> None:
    tables = {"SHOP_TABLE": run.stack.ref("ShopTable"), "JOBS_TABLE": run.stack.ref("JobsTable")}
    furnish(DynamoStore(Deployment(tables, run.aws.session())), CALLERS)

    assert [campaign(run, caller).status for caller in CALLERS] == [202, 202]


def test_answers_are_counted_by_route_and_requests_by_caller(run: FuzzedRun) -> None:
    before, asked = run.answers["GET /webhooks", 200], run.callers["bola"]

    client = Client(run.urls.api, run.stack.token("bola"))
    client.get("/webhooks")
    client.close()

    assert run.answers["GET /webhooks", 200] == before + 1
    assert run.callers["bola"] == asked + 1
    assert any(line.startswith("GET /webhooks ") for line in run.tally())


def test_a_planted_fault_answers_in_the_api_s_place(run: FuzzedRun) -> None:
    client = Client(run.urls.api, run.stack.token("alice"))
    run.fault = crash
    crashed, well = client.get("/jobs?state=dead&limit=100"), client.get("/jobs?state=dead&limit=99")
    run.fault = none
    client.close()

    assert (crashed.status, well.status) == (500, 200)


def test_a_plant_breaks_the_contract(run: FuzzedRun) -> None:
    request = HttpRequest.of("POST", "/wallet/charges")
    declined = HttpAnswer(402, {"content-type": "application/problem+json"}, b"{}")
    accepted = HttpAnswer(
        202,
        {"content-type": "application/json", "location": "/jobs/x", "retry-after": "1"},
        b'{"status":"queued","jobId":"x"}',
    )

    for planted in (
        undocumented(run, lambda _: declined, request),
        misshapen(run, lambda _: accepted, request),
    ):
        assert published().faults("POST", "/wallet/charges", planted)
    assert not published().faults("POST", "/wallet/charges", accepted)
