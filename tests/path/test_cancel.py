"""What an owner can do about jobs: cancel those that wait, and list those in trouble."""

import json

import pytest

from handlers.postroom.storage import Update
from handlers.shop.orders import order_key
from infra.local.http_messages import HttpAnswer
from tests.path.shop import Shop


def cancel(shop: Shop, path: str, caller: str = "ada") -> HttpAnswer:
    return shop.stack.call("DELETE", f"/jobs/{path}", subject=caller)


def listed(shop: Shop, query: str, caller: str = "ada") -> list[str]:
    page = shop.get(f"/jobs?{query}", caller)
    assert page.status == 200, page.body
    return [job["id"] for job in json.loads(page.body)["jobs"]]


def test_a_waiting_commit_that_is_cancelled_takes_no_effect(shop: Shop) -> None:
    with shop.without("LoyaltyFunction"):
        event = shop.order(1001)
        shop.settle()
        assert cancel(shop, f"{event.id}:loyalty").status == 200
    shop.run_until_idle()

    assert shop.states(event.id)["loyalty"] == "cancelled"
    assert shop.states(event.id)["receipts"] == "completed"
    assert shop.points() == 0
    assert shop.outcomes("loyalty") == ["cancelled"]
    assert shop.waiting("LoyaltyDeadLetterQueue") == 0


@pytest.mark.parametrize(
    ("subscriber", "function"), [("receipts", "ReceiptsFunction"), ("warehouse", "WarehouseFunction")]
)
def test_what_may_be_under_way_is_cancelling_and_ends_unrun(
    shop: Shop, subscriber: str, function: str
) -> None:
    with shop.without(function):
        event = shop.order(1001)
        shop.settle()
        assert cancel(shop, f"{event.id}:{subscriber}").status == 202
        assert shop.states(event.id)[subscriber] == "cancelling"
    shop.run_until_idle()

    assert shop.states(event.id)[subscriber] == "cancelled"
    assert shop.outcomes(subscriber) == ["cancelled"]
    assert len(shop.mailer.sent) == (subscriber != "receipts")
    assert len(shop.picks()) == (subscriber != "warehouse")


def test_what_is_done_cannot_be_cancelled_and_stays_done(shop: Shop) -> None:
    event = shop.order(1001)
    shop.run_until_idle()

    assert cancel(shop, event.id).status == 409
    assert cancel(shop, event.id, caller="bola").status == 404
    assert set(shop.states(event.id).values()) == {"completed"}


def test_an_owner_lists_what_is_dead_until_it_is_mended(shop: Shop) -> None:
    shop.expects("job.attempt_failed")
    events = [shop.order(number, email="bola.example.com") for number in (1001, 1002, 1003)]
    shop.run_until_idle()

    ids = [f"{event.id}:receipts" for event in events]
    assert sorted(listed(shop, "state=dead")) == ids
    assert listed(shop, "state=retrying") == []
    assert listed(shop, "state=dead", caller="bola") == []
    assert len(listed(shop, "state=dead&limit=2")) == 2

    for number in (1001, 1002, 1003):
        shop.store.write(Update(order_key(str(number)), set={"email": "bola@example.com"}))
    shop.run_for(1)
    dead_letters = shop.aws.sqs.queue(shop.stack.ref("ReceiptsDeadLetterQueue")).arn
    shop.client("sqs").start_message_move_task(SourceArn=dead_letters)
    shop.run_until_idle()
    assert listed(shop, "state=dead") == []
