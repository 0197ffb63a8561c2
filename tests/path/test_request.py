"""The request is answered at once; what follows is followed by its job."""

import pytest

from tests.path.names import resource_of
from tests.path.shop import SUBSCRIBERS, Shop


def test_accepted_work_is_answered_with_202_and_the_place_to_look(shop: Shop) -> None:
    answer = shop.checkout()

    job_id = answer.json["jobId"]
    assert answer.status == 202
    assert answer.headers["location"] == f"/jobs/{job_id}"
    assert answer.json == {"status": "queued", "jobId": job_id}


def test_the_place_to_look_knows_the_job_before_anything_has_run(shop: Shop) -> None:
    location = shop.checkout().headers["location"]

    status = shop.get(location)

    assert status.status == 200
    assert status.json["state"] == "queued"
    assert {job["state"] for job in status.json["jobs"]} == {"queued"}
    assert status.headers["retry-after"] == "1"


def test_one_order_becomes_a_receipt_an_invoice_points_and_a_pick(shop: Shop) -> None:
    job_id = shop.checkout().json["jobId"]

    shop.settle()

    order_id = job_id.removeprefix("order-").removesuffix("-paid")
    assert shop.states(job_id) == dict.fromkeys(SUBSCRIBERS, "completed")
    assert [mail.to for mail in shop.mailer.mails.values()] == ["ada@example.com"]
    assert "₦20,425" in shop.mailer.mails[f"{job_id}:receipts"].subject
    assert shop.invoices() == [f"invoices/{order_id}.pdf"]
    assert shop.points("ada") == 204
    assert [pick["orderId"] for pick in shop.picks()] == [order_id]
    assert shop.t == 0


def test_one_job_is_shown_with_its_id_state_and_result(shop: Shop) -> None:
    """The form of `{"id":"9f3c-2a","state":"completed","result":{"messageId":"e_1a2b"}}`."""
    job_id = shop.checkout().json["jobId"]
    shop.settle()

    shown = shop.get(f"/jobs/{job_id}:receipts").json

    assert (
        shown.items()
        >= {
            "id": f"{job_id}:receipts",
            "state": "completed",
            "result": {"messageId": f"<{job_id}:receipts>"},
        }.items()
    )


def test_an_open_job_says_when_to_ask_again_and_an_unchanged_one_is_304(shop: Shop) -> None:
    location = shop.checkout().headers["location"]
    first = shop.get(location)

    unchanged = shop.get(location, if_none_match=first.headers["etag"])
    shop.settle()
    changed = shop.get(location, if_none_match=first.headers["etag"])

    assert (unchanged.status, unchanged.body) == (304, b"")
    assert unchanged.headers["retry-after"] == "1"
    assert (changed.status, changed.json["state"]) == (200, "completed")
    assert "retry-after" not in changed.headers


def test_with_the_mailer_down_the_answer_is_202_at_once(shop: Shop) -> None:
    shop.expects("job.attempt_failed")
    shop.mailer.switch.fail()

    answer = shop.checkout()

    assert answer.status == 202
    assert shop.t == 0
    shop.settle()
    states = shop.states(answer.json["jobId"])
    assert states == {**dict.fromkeys(SUBSCRIBERS, "completed"), "receipts": "retrying"}


@pytest.mark.parametrize("seconds", [0.09, 2, 6])
def test_a_mailer_that_takes_longer_and_longer_delays_no_answer(shop: Shop, seconds: float) -> None:
    shop.mailer.on_sending.append(lambda: shop.clock.advance(seconds))

    answer = shop.checkout()
    answered_at = shop.t
    shop.settle()

    assert (answer.status, answered_at) == (202, 0.0)
    assert (len(shop.mailer.sent), shop.t) == (1, seconds)


def test_with_the_mailer_down_pressing_again_returns_the_same_job(shop: Shop) -> None:
    shop.expects("job.attempt_failed")
    shop.mailer.switch.fail(seconds=30)
    first = shop.checkout("order-1")
    shop.settle()

    again = shop.checkout("order-1")

    assert (again.status, again.body) == (first.status, first.body)
    assert again.headers["location"] == first.headers["location"]
    assert again.headers["idempotency-replayed"] == "true"
    assert "idempotency-replayed" not in first.headers
    shop.run_until_idle()
    assert len(shop.gateway.charges) == 1
    assert len(shop.mailer.sent) == 1


def test_pressing_again_after_everything_is_done_changes_nothing(shop: Shop) -> None:
    first = shop.checkout("order-1")
    shop.settle()
    before = shop.everything()

    again = shop.checkout("order-1")
    shop.settle()

    assert again.body == first.body
    assert shop.everything() == before


def test_the_card_is_charged_before_the_answer_and_a_declined_one_writes_nothing(shop: Shop) -> None:
    headers = {"content-type": "application/json", "idempotency-key": "order-1"}
    body = '{"email":"ada@example.com","cardToken":"tok_declined","lines":[{"sku":"zobo-tea","quantity":1}]}'

    answer = shop.stack.call("POST", "/checkout", headers, body)

    assert answer.status == 402
    assert shop.shop_items() == []
    assert shop.settle() == 0


def test_a_consumer_loads_fresh_data_and_not_what_was_true_when_the_event_was_born(shop: Shop) -> None:
    shop.order(1001, email="old@example.com")
    shop.set_attribute("order-1001", "email", "new@example.com")

    shop.settle()

    assert [mail.to for mail in shop.mailer.mails.values()] == ["new@example.com"]


@pytest.mark.parametrize("path", ["", ":receipts"], ids=["event", "job"])
def test_nobody_sees_the_job_of_another_caller(shop: Shop, path: str) -> None:
    job_id = shop.checkout(caller="ada").json["jobId"]
    shop.settle()

    others = shop.get(f"/jobs/{job_id}{path}", caller="bola")
    unknown = shop.get(f"/jobs/order-nothing-paid{path}", caller="bola")

    assert (others.status, others.body) == (404, unknown.body)


def test_messages_carry_ids_and_facts_and_nothing_personal(shop: Shop) -> None:
    shop.checkout(email="ada@example.com")
    shop.poll("RelayFunction")

    for subscriber in SUBSCRIBERS:
        (message,) = shop.aws.sqs.queue(shop.stack.ref(resource_of(subscriber, "Queue"))).messages
        assert "ada@example.com" not in message.body
        assert "tok_visa" not in message.body
        assert "Adire" not in message.body
