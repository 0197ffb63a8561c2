"""Nothing is dropped, nothing loops for ever: what cannot succeed is set aside at once, by SQS itself."""

from dataclasses import replace

import pytest

from handlers import queue_invoices, queue_receipts
from handlers.postroom.aws.queue_entry import queue_handler
from handlers.postroom.jobs import Call, Job
from handlers.postroom.retries import Jitter
from handlers.providers import files_s3
from handlers.providers.files_s3 import Files
from handlers.shop.orders import OrderPaid
from tests.path.conftest import OpenShop
from tests.path.names import resource_of
from tests.path.shop import Shop, with_policy

FAILED = "job.attempt_failed"
FOUR_ATTEMPTS = {"attempts": 4, "base_ms": 1_000, "jitter": Jitter.NONE}


def crashing_on_order_1003(job: Job[OrderPaid]) -> Call[Files]:
    if job.data.order_id == "1003":
        raise RuntimeError("the PDF renderer crashed")
    effect: Call[Files] = queue_invoices.store_invoice.run(job)
    return effect


@pytest.fixture
def strict_shop(open_shop: OpenShop) -> Shop:
    """Receipts and invoices with at most 4 attempts, base 1 s; the renderer crashes on order 1003."""
    made: list[Shop] = []
    receipts = with_policy(queue_receipts.handler, **FOUR_ATTEMPTS)
    invoices = replace(with_policy(queue_invoices.handler, **FOUR_ATTEMPTS), run=crashing_on_order_1003)
    shop = open_shop(
        receipts=queue_handler(receipts, provider=lambda _: made[0].mailer),
        invoices=queue_handler(invoices, provider=files_s3.from_deployment),
    )
    made.append(shop)
    shop.expects(FAILED)
    return shop


def test_an_address_that_is_none_is_dead_after_1_attempt_and_says_so(strict_shop: Shop) -> None:
    event = strict_shop.order(1001, email="bola.example.com")

    strict_shop.settle()

    job = strict_shop.status(event.id)["receipts"]
    assert (job["state"], job["attempts"]) == ("dead", 1)
    assert "not an e-mail address" in job["error"]
    assert len(strict_shop.failures(event.id, "receipts")) == 1
    assert strict_shop.mailer.asked == []


def test_a_crashing_renderer_fails_at_0_1_3_7_s_and_is_dead_after_4_attempts(strict_shop: Shop) -> None:
    event = strict_shop.order(1003)

    strict_shop.run_until_idle()

    row = strict_shop.jobs(event.id)["invoices"]
    assert strict_shop.failures(event.id, "invoices") == [0.0, 1.0, 3.0, 7.0]
    assert (row["state"], row["attempts"]) == ("dead", 4)
    assert strict_shop.ended_at(event.id, "invoices") == 7.0
    assert (
        row["failures"][-1].items()
        >= {
            "error": "RuntimeError",
            "message": "the PDF renderer crashed",
        }.items()
    )


def test_the_owner_is_told_attempts_and_outcome_but_nothing_of_the_inside(strict_shop: Shop) -> None:
    event = strict_shop.order(1003)
    strict_shop.run_until_idle()

    job = strict_shop.status(event.id)["invoices"]

    assert (job["state"], job["attempts"]) == ("dead", 4)
    assert "4 times" in job["error"]
    assert "renderer" not in job["error"]


@pytest.mark.parametrize(
    ("subscriber", "number", "email", "dead_at", "runs"),
    [
        pytest.param("receipts", 1001, "bola.example.com", 0.0, 1, id="permanent"),
        pytest.param("invoices", 1003, "ada@example.com", 7.0, 4, id="exhausted"),
    ],
)
def test_a_dead_job_is_in_the_dead_letter_queue_at_that_instant_moved_by_sqs_itself(
    strict_shop: Shop, subscriber: str, number: int, email: str, dead_at: float, runs: int
) -> None:
    event = strict_shop.order(number, email=email)
    strict_shop.run_until(dead_at)

    (letter,) = strict_shop.dead_letters(subscriber)

    source = strict_shop.aws.sqs.queue(strict_shop.stack.ref(resource_of(subscriber, "Queue")))
    assert strict_shop.t == strict_shop.ended_at(event.id, subscriber) == dead_at
    assert letter["Attributes"]["DeadLetterQueueSourceArn"] == source.arn
    assert letter["Body"] == event.to_json()
    assert letter["MessageAttributes"].keys() == {"type", "publication"}
    assert source.messages == []
    assert len(strict_shop.failures(event.id, subscriber)) == runs
    assert "sqs" not in {call.service for call in strict_shop.aws.calls if call.operation == "SendMessage"}


def test_a_dead_job_leaves_its_neighbours_and_its_orders_other_jobs_alone(strict_shop: Shop) -> None:
    strict_shop.order(1001, email="bola.example.com")
    strict_shop.order(1002, email="ada@example.com", caller="ada")

    strict_shop.settle()

    assert strict_shop.states("order-1001-paid") == {
        "receipts": "dead",
        "invoices": "completed",
        "loyalty": "completed",
        "sales": "completed",
        "warehouse": "completed",
    }
    assert set(strict_shop.states("order-1002-paid").values()) == {"completed"}
    assert [key for _, key in strict_shop.mailer.sent] == ["order-1002-paid:receipts"]


def test_after_the_data_is_mended_a_redrive_completes_the_job(strict_shop: Shop) -> None:
    event = strict_shop.order(1001, email="bola.example.com")
    strict_shop.settle()
    strict_shop.set_attribute("order-1001", "email", "bola@example.com")
    strict_shop.clock.advance(60)

    redrive(strict_shop, "receipts")
    strict_shop.settle()

    job = strict_shop.jobs(event.id)["receipts"]
    assert (job["state"], job["generation"]) == ("completed", 1)
    assert [mail.to for mail in strict_shop.mailer.mails.values()] == ["bola@example.com"]
    assert strict_shop.waiting("ReceiptsDeadLetterQueue") == 0


def test_a_redrive_of_what_is_not_mended_comes_back_dead_and_loops_no_further(strict_shop: Shop) -> None:
    event = strict_shop.order(1001, email="bola.example.com")
    strict_shop.settle()
    strict_shop.clock.advance(60)

    redrive(strict_shop, "receipts")
    strict_shop.settle()

    row = strict_shop.jobs(event.id)["receipts"]
    assert (row["state"], row["generation"], row["attempts"]) == ("dead", 1, 1)
    assert len(strict_shop.dead_letters("receipts")) == 1


def test_a_repeat_from_the_relay_does_not_reopen_a_dead_job(strict_shop: Shop) -> None:
    event = strict_shop.order(1001, email="bola.example.com")
    strict_shop.settle()
    before = strict_shop.jobs(event.id)["receipts"]

    strict_shop.publish(event.to_json(), publication="another")
    strict_shop.settle()

    assert strict_shop.jobs(event.id)["receipts"] == before
    assert len(strict_shop.dead_letters("receipts")) == 1
    assert strict_shop.outcomes("receipts")[-1] == "duplicate"


def test_an_event_of_an_order_that_does_not_exist_is_dead_and_makes_no_phantom(shop: Shop) -> None:
    """DDB-3."""
    shop.expects(FAILED)
    shop.publish(shop.event(9999).to_json())

    shop.settle()

    rows = shop.jobs("order-9999-paid")
    for subscriber in ("receipts", "invoices", "warehouse"):
        assert rows[subscriber]["state"] == "dead"
        assert rows[subscriber]["failures"][0]["error"] == "NotFound"
    # an entry among the sales takes its facts from the event alone
    assert {item["sk"] for item in shop.shop_items("order-9999")} <= {"sale"}


def redrive(shop: Shop, subscriber: str) -> None:
    """As the console does it: SQS moves what is in the dead-letter queue back to where it came from."""
    source = shop.aws.sqs.queue(shop.stack.ref(resource_of(subscriber, "DeadLetterQueue"))).arn
    shop.client("sqs").start_message_move_task(SourceArn=source)
    shop.run_for(1)
