"""A body that cannot be an event is a permanent failure: that record alone, natively, at once."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from handlers.postroom.discovery import job_types
from tests.path.conftest import OpenShop
from tests.path.names import resource_of
from tests.path.shop import SUBSCRIBERS, Shop

Envelope = dict[str, Any]
Body = Callable[[Envelope], str]


def changed(**data: Any) -> Body:
    """The event with other payload members; None leaves one out."""

    def body(event: Envelope) -> str:
        merged = {**event["data"], **data}
        return json.dumps(
            {**event, "data": {name: value for name, value in merged.items() if value is not None}}
        )

    return body


def literal(text: str) -> Body:
    return lambda _event: text


def with_amount(token: str) -> Body:
    """The amount as a literal that `json.dumps` would not write."""
    return lambda event: changed(amount="@")(event).replace('"@"', token)


def wrapped(event: Envelope) -> str:
    topic = "arn:aws:sns:eu-west-1:123456789012:EventsTopic"
    return json.dumps({"Type": "Notification", "TopicArn": topic, "Message": json.dumps(event)})


def with_a_key_twice(event: Envelope) -> str:
    return changed(amount=1)(event).replace('"amount": 1', '"amount": 1, "amount": 999')


def cut_short(event: Envelope) -> str:
    return json.dumps(event)[:-1]


def of_a_broken_owner(event: Envelope) -> str:
    return json.dumps({**event, "owner": "a\x00da"})


def of_version_2(event: Envelope) -> str:
    return json.dumps({**event, "version": 2})


BAD_PAYLOADS = [
    pytest.param(changed(surprise=1), id="unknown-field"),
    pytest.param(changed(amount="2042500"), id="wrong-type"),
    pytest.param(changed(amount=True), id="bool-as-number"),
    pytest.param(changed(amount=0), id="zero"),
    pytest.param(changed(amount=-1), id="negative"),
    pytest.param(with_amount("2042500.5"), id="fraction"),
    pytest.param(changed(orderId=None), id="missing-field"),
    pytest.param(changed(customerId="a" * 200_000), id="oversized"),
    pytest.param(changed(orderId="10\x0001"), id="NUL-in-order"),
    pytest.param(changed(customerId="a\x00da"), id="NUL-in-customer"),
]
NO_EVENTS = [
    pytest.param(of_a_broken_owner, id="NUL-in-owner"),
    pytest.param(literal('{"data":{}}'), id="empty"),
    pytest.param(changed(customerId="\ud800"), id="lone-surrogate"),
    pytest.param(with_a_key_twice, id="JSON-1-duplicate-key"),
    pytest.param(with_amount("9" * 4301), id="JSON-2-endless-number"),
    pytest.param(with_amount("NaN"), id="NaN"),
    pytest.param(with_amount("Infinity"), id="Infinity"),
    pytest.param(literal("null"), id="BATCH-3-null"),
    pytest.param(literal("[1]"), id="BATCH-3-list"),
    pytest.param(literal('""'), id="BATCH-3-empty-string"),
    pytest.param(literal('{"id":'), id="BATCH-3-cut-off"),
    pytest.param(cut_short, id="bad-json"),
    pytest.param(literal("[" * 20_000), id="too-deep"),
    pytest.param(literal("ÿþ{}"), id="not-utf-8"),
    pytest.param(literal("<order/>"), id="not-json-at-all"),
    pytest.param(literal("orderId=1001&amount=1"), id="another-content-type"),
    pytest.param(wrapped, id="SNS-5-wrapped"),
]

SOON_DEAD = {
    resource_of(name, "Queue"): {
        "RedrivePolicy": {
            "deadLetterTargetArn": {"Fn::GetAtt": [resource_of(name, "DeadLetterQueue"), "Arn"]},
            "maxReceiveCount": 3,
        }
    }
    for name in SUBSCRIBERS
}
"""Fewer receives on the way out than the template allows: the same way, only shorter to run."""


ATTEMPTS = {each.subscriber: each.retry.attempts for each in job_types("handlers")}
ALL_COMPLETED = dict.fromkeys(SUBSCRIBERS, "completed")


@pytest.fixture
def shop(open_shop: OpenShop) -> Shop:
    return open_shop(SOON_DEAD)


@pytest.mark.parametrize("body", BAD_PAYLOADS)
def test_an_event_with_a_payload_that_cannot_be_read_is_a_dead_job_after_1_run_and_that_alone(
    shop: Shop, body: Body
) -> None:
    shop.expects("job.attempt_failed")

    deliver_between_good_ones(shop, body)

    for subscriber in SUBSCRIBERS:
        row = shop.jobs("order-1002-paid")[subscriber]
        assert (row["state"], row["attempts"]) == ("dead", 1)
        assert row["failures"][0]["error"] == "Unreadable"
    assert_that_one_alone_is_dead(shop)


@pytest.mark.parametrize("body", NO_EVENTS)
def test_a_body_that_is_no_event_is_dead_at_once_and_that_record_alone(shop: Shop, body: Body) -> None:
    shop.expects("record.unreadable")

    deliver_between_good_ones(shop, body)

    assert shop.jobs("order-1002-paid") == {}
    assert_that_one_alone_is_dead(shop)


def test_an_event_from_the_future_waits_then_is_dead_and_says_why(open_shop: OpenShop) -> None:
    shop = open_shop({})
    shop.expects("job.attempt_failed")

    deliver_between_good_ones(shop, of_version_2)

    assert shop.states("order-1002-paid") == dict.fromkeys(SUBSCRIBERS, "retrying")
    assert [shop.states(f"order-{number}-paid") for number in (1001, 1003)] == [ALL_COMPLETED] * 2

    shop.run_until_idle()

    for subscriber, row in shop.jobs("order-1002-paid").items():
        assert (row["state"], row["attempts"]) == ("dead", ATTEMPTS[subscriber])
        assert row["failures"][-1]["error"] == "NewerVersion"
        assert row["failures"][-1]["message"].endswith("is newer than the code here (known: 1)")
        assert len(shop.dead_letters(subscriber)) == 1


def deliver_between_good_ones(shop: Shop, body: Body) -> None:
    """One batch for every subscriber: an order, the bad record, an order."""
    shop.order(1001)
    shop.poll("RelayFunction")
    shop.publish(body(json.loads(shop.event(1002).to_json())))
    shop.order(1003)
    shop.poll("RelayFunction")
    shop.settle()


def assert_that_one_alone_is_dead(shop: Shop) -> None:
    for subscriber in SUBSCRIBERS:
        first_batch = shop.runs(resource_of(subscriber, "Function"))[0]
        bad = first_batch.event["Records"][1]["messageId"]
        assert first_batch.answer == {"batchItemFailures": [{"itemIdentifier": bad}]}
        (letter,) = shop.dead_letters(subscriber)
        source = shop.aws.sqs.queue(shop.stack.ref(resource_of(subscriber, "Queue")))
        assert letter["MessageId"] == bad
        assert letter["Attributes"]["DeadLetterQueueSourceArn"] == source.arn
        assert source.messages == []
        assert shop.outcomes(subscriber).count("completed") == 2
    assert (shop.points(), len(shop.picks()), len(shop.invoices()), len(shop.mailer.sent)) == (408, 2, 2, 2)
    assert shop.t == 0
