"""The shop on the local run as a user has it: over real HTTP and SMTP, on the machine's clock."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

from infra.local.cart import cart
from infra.local.client import Client, jobs_of
from infra.local.functions import Invocation
from infra.local.local_run import LocalRun, RunOptions
from infra.local.shop_facts import Facts
from infra.local.waiting import wait_for
from tests.unit.local.asking import ask

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


def client(run: LocalRun, caller: str = "ada") -> Client:
    return Client(run.urls.api, run.stack.token(caller))


@pytest.mark.parametrize(
    "options",
    [{"parameters": {"SnapStart": "on"}}, {"isolated": True}],
    ids=["in-process, from snapshots", "isolated"],
)
def test_order_becomes_receipt_invoice_points_and_pick_each_once(
    start: Callable[..., LocalRun], options: dict[str, Any]
) -> None:
    run = start(**options)
    ada = client(run)

    answer = ada.command("/checkout", "order-1", cart("ada@example.com"))
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

    answer = bola.command("/checkout", "order-1", cart("bola@example.com"))
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

    refused = chidi.command("/checkout", "order-1", cart("chidi@example.com"))
    orders = [order for order in Facts(run).orders() if order["owner"]["S"] == "chidi"]
    ask(run.urls.api, "DELETE", "/_control/cards/outage")
    accepted = chidi.command("/checkout", "order-1", cart("chidi@example.com"))
    chidi.close()

    assert (refused.status, orders, accepted.status) == (503, [], 202)


def test_pages_show_mails_invoices_and_queues(run: LocalRun) -> None:
    dayo = client(run, "dayo")
    status = dayo.follow(
        dayo.command("/checkout", "order-1", cart("dayo@example.com")).headers["location"], SOON_SECONDS
    )
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


@pytest.mark.parametrize("isolated", [False, True], ids=["in-process", "isolated"])
def test_stop_finishes_or_gives_back_what_is_in_flight_at_once(
    start: Callable[..., LocalRun], isolated: bool
) -> None:
    run = start(isolated=isolated)
    facts = Facts(run)
    run.switches["mail"].latency = 0.2
    ada = client(run)
    for number in range(30):
        ada.command("/checkout", f"order-{number}", cart("ada@example.com"))
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


@pytest.mark.parametrize("isolated", [False, True], ids=["in-process", "isolated"])
def test_stop_answers_the_requests_that_have_come(start: Callable[..., LocalRun], isolated: bool) -> None:
    seen: list[Invocation] = []
    run = start(isolated=isolated, observers=[seen.append])
    run.switches["cards"].latency = 0.2
    callers = [http.client.HTTPConnection(urlsplit(run.urls.api).netloc, timeout=20) for _ in range(10)]
    headers = {"authorization": f"Bearer {run.stack.token('ada')}", "content-type": "application/json"}

    for number, caller in enumerate(callers):
        body = json.dumps(cart("ada@example.com"))
        caller.request("POST", "/checkout", body, {**headers, "idempotency-key": f"order-{number}"})
    # The last was sent long before the first is answered: all have come by then.
    wait_for(lambda: len(seen) > 0, SOON_SECONDS, "an answer")
    run.stop()
    answers = [caller.getresponse().status for caller in callers]
    for caller in callers:
        caller.close()

    assert answers == [202] * len(callers)
