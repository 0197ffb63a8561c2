"""The local run as a user has it: over real HTTP and SMTP, on the machine's clock."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

import pytest

from infra.local.client import Client, cart, jobs_of
from infra.local.local_run import LocalRun, RunOptions
from infra.local.providers.webhooks import Received
from infra.local.shop_facts import Facts, wait_for

SOON_SECONDS = 30.0


@pytest.fixture
def start() -> Iterator[Callable[..., LocalRun]]:
    runs: list[LocalRun] = []

    def started(**options: Any) -> LocalRun:
        run = LocalRun(RunOptions(**options))
        runs.append(run)
        run.start()
        return run

    yield started
    for run in runs:
        run.stop()


@pytest.fixture(scope="module")
def run() -> Iterator[LocalRun]:
    """One for all tests that leave it as they found it; each has a caller of its own."""
    run = LocalRun()
    run.start()
    yield run
    run.stop()


def ask(
    url: str, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None
) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=10)
    try:
        connection.request(method, path, body, dict(headers or {}))
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def client(run: LocalRun, caller: str = "ada") -> Client:
    return Client(run.urls.api, run.stack.token(caller))


@pytest.mark.parametrize("isolated", [False, True], ids=["in-process", "isolated"])
def test_order_becomes_receipt_invoice_points_and_pick_each_once(
    start: Callable[..., LocalRun], isolated: bool
) -> None:
    run = start(isolated=isolated)
    ada = client(run)

    answer = ada.checkout("order-1", cart("ada@example.com"))
    status = ada.follow(answer.headers["location"], SOON_SECONDS)
    ada.close()

    facts = Facts(run)
    assert answer.status == 202
    assert {job["state"] for job in jobs_of(status).values()} == {"completed"}
    assert set(facts.effects().values()) == {1}
    assert facts.points("ada") == 204
    assert run.mailbox.mails[0].subject.endswith("₦20,425")


def test_receipt_waits_for_the_mail_server_and_the_order_does_not(run: LocalRun) -> None:
    bola = client(run, "bola")
    ask(run.urls.api, "POST", "/_control/mail/outage")

    answer = bola.checkout("order-1", cart("bola@example.com"))
    during = bola.follow(
        answer.headers["location"], SOON_SECONDS, until=lambda now: now["state"] == "retrying"
    )
    ask(run.urls.api, "DELETE", "/_control/mail/outage")
    after = bola.follow(answer.headers["location"], SOON_SECONDS)
    bola.close()

    assert (answer.status, jobs_of(during)["receipts"]["state"]) == (202, "retrying")
    assert after["state"] == "completed"
    assert [len(mail.times) for mail in run.mailbox.mails if "bola@example.com" in mail.recipients] == [1]


def test_card_gateway_out_of_order_is_503_and_no_order(run: LocalRun) -> None:
    chidi = client(run, "chidi")
    ask(run.urls.api, "POST", "/_control/cards/outage", b'{"seconds": 60}')

    refused = chidi.checkout("order-1", cart("chidi@example.com"))
    orders = [order for order in Facts(run).orders() if order["owner"]["S"] == "chidi"]
    ask(run.urls.api, "DELETE", "/_control/cards/outage")
    accepted = chidi.checkout("order-1", cart("chidi@example.com"))
    chidi.close()

    assert (refused.status, orders, accepted.status) == (503, [], 202)


def test_pages_show_mails_invoices_and_queues(run: LocalRun) -> None:
    dayo = client(run, "dayo")
    status = dayo.follow(dayo.checkout("order-1", cart("dayo@example.com")).headers["location"], SOON_SECONDS)
    dayo.close()
    bucket, _, key = jobs_of(status)["invoices"]["result"]["location"].removeprefix("s3://").partition("/")
    number = [list(mail.recipients) for mail in run.mailbox.mails].index(["dayo@example.com"])
    dead_letters = run.stack.ref("ReceiptsDeadLetterQueue").rpartition("/")[2]

    assert b"dayo@example.com" in ask(run.urls.api, "GET", "/mails")[1]
    assert b"dayo@example.com" in ask(run.urls.api, "GET", f"/mails/{number}")[1]
    assert key.encode() in ask(run.urls.api, "GET", "/invoices")[1]
    assert ask(run.urls.api, "GET", f"/invoices/{bucket}/{key}")[1].startswith(b"%PDF")
    assert json.loads(ask(run.urls.api, "GET", "/queues")[1])[dead_letters]["waiting"] == 0
    assert dead_letters.encode() in ask(run.urls.api, "GET", "/")[1]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/mails/700", 404),
        ("GET", "/invoices/none/none", 404),
        ("POST", "/_control/weather/outage", 404),
        ("POST", "/_control/weather/latency", 404),
        ("GET", "/nothing", 404),
        ("POST", "/checkout", 401),
    ],
)
def test_what_is_not_there_is_said_so(run: LocalRun, method: str, path: str, status: int) -> None:
    assert ask(run.urls.api, method, path)[0] == status


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

    assert ask(run.urls.api, "POST", "/checkout", bytes(10 * 1024 * 1024 + 1), headers)[0] == 413


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


@pytest.mark.parametrize("isolated", [False, True], ids=["in-process", "isolated"])
def test_stop_finishes_or_gives_back_what_is_in_flight_at_once(
    start: Callable[..., LocalRun], isolated: bool
) -> None:
    run = start(isolated=isolated)
    facts = Facts(run)
    run.switches["mail"].latency = 0.2
    ada = client(run)
    for number in range(30):
        ada.checkout(f"order-{number}", cart("ada@example.com"))
    ada.close()
    wait_for(lambda: facts.in_flight() > 5, SOON_SECONDS, "something in flight")

    begun = time.monotonic()
    run.stop()
    took = time.monotonic() - begun

    receipts = sum(facts.queue("ReceiptsQueue")) + len(run.mailbox.mails)
    assert facts.in_flight() == 0
    assert took < 8
    assert receipts + facts.unpublished() == 30
    assert run.mailbox.arrivals == len(run.mailbox.mails)


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
