"""The local run as a user has it: over real HTTP and SMTP, on the machine's clock."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from infra.local.local_run import LocalRun
from infra.local.providers.webhooks import Received
from infra.local.waiting import wait_for
from tests.unit.local.asking import ask

SOON_SECONDS = 30.0


@pytest.fixture(scope="module")
def run() -> Iterator[LocalRun]:
    """One for all tests that leave it as they found it; each has a caller of its own."""
    run = LocalRun()
    run.start()
    yield run
    run.stop()


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/mails/700", 404),
        ("GET", "/invoices/none/none", 404),
        ("POST", "/_control/weather/outage", 404),
        ("POST", "/_control/weather/latency", 404),
        ("GET", "/nothing", 404),
        ("POST", "/webhooks", 401),
    ],
)
def test_what_is_not_there_is_said_so(run: LocalRun, method: str, path: str, status: int) -> None:
    assert ask(run.urls.api, method, path)[0] == status


@pytest.mark.parametrize("what", ["outage", "latency"])
@pytest.mark.parametrize(
    "body",
    [
        "{",
        "3",
        "[]",
        "{}",
        *(f'{{"seconds": {seconds}}}' for seconds in ('"x"', "1e999", "NaN", "-5", "true", "86401")),
    ],
)
def test_time_that_cannot_be_is_400_with_the_reason_and_changes_nothing(
    run: LocalRun, what: str, body: str
) -> None:
    status, answer = ask(run.urls.api, "POST", f"/_control/sms/{what}", body.encode())

    assert (status, json.loads(answer)) == (
        400,
        {"message": 'the body is {"seconds": NUMBER}, from 0 to 86400, or empty'},
    )
    assert (run.switches["sms"].is_down, run.switches["sms"].latency) == (False, 0)


@pytest.mark.parametrize("body", [b"{", b"[]", b"\xff"])
def test_aws_endpoint_refuses_a_body_that_is_no_json(run: LocalRun, body: bytes) -> None:
    status, answer = ask(run.urls.aws, "POST", "/", body, {"x-amz-target": "AmazonSQS.SendMessage"})

    assert (status, json.loads(answer)["__type"]) == (400, "com.amazonaws.sqs#SerializationException")


def test_aws_endpoint_refuses_a_schedule_that_is_no_json(run: LocalRun) -> None:
    scope = "Credential=local/20261130/eu-west-1/scheduler/aws4_request"
    headers = {"authorization": f"AWS4-HMAC-SHA256 {scope}, SignedHeaders=host, Signature=0"}

    status, answer = ask(run.urls.aws, "POST", "/schedules/one", b"{", headers)

    assert (status, b"no JSON" in answer) == (400, True)


def test_pages_answer_to_the_names_of_this_machine_only(run: LocalRun) -> None:
    assert ask(run.urls.api, "GET", "/mails", headers={"host": "evil.example"})[0] == 400


def test_latency_is_set_in_seconds(run: LocalRun) -> None:
    assert ask(run.urls.api, "POST", "/_control/cards/latency", b'{"seconds": 0.25}')[0] == 200

    begun = time.monotonic()
    ask(run.urls.cards, "GET", "/charges")
    took = time.monotonic() - begun
    run.switches["cards"].mend()

    assert took >= 0.25


def test_body_too_large_for_the_gateway_is_413(run: LocalRun) -> None:
    headers = {"authorization": f"Bearer {run.stack.token('ada')}", "content-type": "application/json"}

    assert ask(run.urls.api, "POST", "/webhooks", bytes(10 * 1024 * 1024 + 1), headers)[0] == 413


def test_aws_endpoint_answers_what_the_clients_in_process_get(run: LocalRun) -> None:
    import boto3

    over_http = boto3.client(
        "sqs",
        endpoint_url=run.urls.aws,
        region_name="eu-west-1",
        aws_access_key_id="local",
        aws_secret_access_key="local",
    )

    url = over_http.get_queue_url(QueueName="RelayFailures")["QueueUrl"]
    over_http.close()

    assert url == run.stack.ref("RelayFailures")


def test_a_registered_webhook_is_sent_signed_requests_that_can_be_looked_at(run: LocalRun) -> None:
    caller = {"authorization": f"Bearer {run.stack.token('hanna')}", "content-type": "application/json"}
    url = f"{run.urls.webhooks}/hanna"

    def post(path: str, body: object, key: str) -> dict[str, Any]:
        headers = {**caller, "idempotency-key": key}
        status, answer = ask(run.urls.api, "POST", path, json.dumps(body).encode(), headers)
        assert status in (201, 202), answer
        return dict(json.loads(answer))

    def heard() -> list[Received]:
        return [each for each in run.receiver.received if each.url == url]

    hook = post("/webhooks", {"url": url}, "hook-1")["id"]
    run.switches["webhooks"].fail()
    post(f"/webhooks/{hook}/ping", {}, "ping-1")
    wait_for(lambda: len(heard()) == 1, SOON_SECONDS, "the failed ping")
    run.switches["webhooks"].mend()
    wait_for(lambda: len(heard()) == 2, SOON_SECONDS, "its retry")

    assert [(each.status, each.valid) for each in heard()] == [(503, True), (204, True)]
    assert len({each.id for each in heard()}) == 1
    status, page = ask(run.urls.api, "GET", "/received")
    assert (status, heard()[0].id.encode() in page) == (200, True)
    assert ask(run.urls.api, "DELETE", f"/webhooks/{hook}", headers=caller)[0] == 204


def test_a_request_that_nobody_we_know_has_signed_is_refused(run: LocalRun) -> None:
    status, _ = ask(run.urls.webhooks, "POST", "/nobody", b"{}", {"webhook-id": "1"})

    assert status == 401
    assert run.receiver.received[-1].valid is False
