"""order.paid → fraud: the same message again, a worker that dies at any of its calls, one effect."""

from dataclasses import replace

from handlers.postroom.jobs import Job
from handlers.postroom.storage import Key
from handlers.queue_fraud import REVIEWED_FROM, handler, request_review
from handlers.shop.orders import ORDER_PAID
from infra.testkit import assert_effect_once
from tests.unit.events.bodies import published


def test_it_takes_effect_once_whenever_its_worker_dies() -> None:
    event = published(ORDER_PAID)

    assert_effect_once(handler, event)


def test_a_large_order_is_reviewed() -> None:
    event = published(ORDER_PAID)
    job = Job(f"{event.id}:fraud", event, attempt=1)

    commit = request_review.run(job)

    (review,) = commit.writes
    assert review.key == Key("shop", event.aggregate, "review")


def test_a_small_order_is_not() -> None:
    paid = published(ORDER_PAID)
    event = replace(paid, data=paid.data.model_copy(update={"amount": REVIEWED_FROM - 1}))
    job = Job(f"{event.id}:fraud", event, attempt=1)

    commit = request_review.run(job)

    assert (commit.writes, commit.result) == ([], {"review": "not needed"})
