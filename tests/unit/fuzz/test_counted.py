"""The local run as the fuzzer meets it."""

from collections.abc import Iterator

import pytest

from infra.fuzz.counted import FuzzedRun
from infra.fuzz.plants import crash, lenient, misshapen, none, undocumented, unguarded
from infra.local.client import Client
from infra.local.http_messages import HttpAnswer, HttpRequest
from tests.openapi import published


@pytest.fixture(scope="module")
def run() -> Iterator[FuzzedRun]:
    run = FuzzedRun()
    run.start()
    yield run
    run.stop()


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
    request = HttpRequest.of("GET", "/jobs")
    refused = HttpAnswer(400, {"content-type": "application/problem+json"}, b"{}")
    headers = {"content-type": "application/json", "cache-control": "private, no-store"}
    shown = HttpAnswer(200, headers, b'{"state":"dead","jobs":[]}')

    for planted in (undocumented(run, lambda _: refused, request), misshapen(run, lambda _: shown, request)):
        assert published().faults("GET", "/jobs", planted)
    assert not published().faults("GET", "/jobs", shown)
    assert not published().faults("GET", "/jobs", lenient(run, lambda _: refused, request))


def test_who_may_see_all_sees_it_and_nobody_else_does(run: FuzzedRun) -> None:
    alice, bola = (Client(run.urls.api, run.stack.token(name)) for name in ("alice", "bola"))
    made = alice.command("/webhooks", "hook", {"url": "https://example.com/hooks"}).headers["location"]

    guarded = bola.get(made)
    run.fault = unguarded
    shown = bola.get(made)
    run.fault = none
    alice.close()
    bola.close()

    assert (guarded.status, shown.status) == (404, 200)
