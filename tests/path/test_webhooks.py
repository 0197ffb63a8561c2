"""Webhooks along the whole path: registered over HTTP, told of every end, for three days if need be."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import pytest

from handlers import queue_webhooks
from handlers.postroom.aws.deployment import Deployment
from handlers.postroom.aws.queue_entry import queue_handler
from handlers.postroom.aws.tables import DynamoStore
from handlers.postroom.errors import Explained
from handlers.postroom.webhooks.registry import Registry
from handlers.postroom.webhooks.sending import Reply, Sender
from handlers.postroom.webhooks.signing import is_signed
from tests.path import campaigns
from tests.path.conftest import OpenShop
from tests.path.mortal_shop import redrive
from tests.path.shop import SUBSCRIBERS, Shop

URL = "https://hooks.example.com/ada"
MINUTE, HOUR = 60, 3600
SCHEDULE = [0, 5, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR, 20 * HOUR, 24 * HOUR]


@dataclass
class Receiver:
    """The caller's own server, without a wire."""

    is_down: bool = False
    got: list[tuple[float, Mapping[str, str], bytes]] = field(default_factory=list)

    def sender(self, deployment: Deployment) -> Sender:
        registry = Registry(DynamoStore(deployment), deployment.clock)
        return Sender(_Transport(self, deployment), registry, deployment.clock)

    @property
    def told(self) -> list[dict[str, Any]]:
        return [json.loads(body) for _, _, body in self.got]


@dataclass(frozen=True)
class _Transport:
    receiver: Receiver
    deployment: Deployment

    def post(self, url: str, headers: Mapping[str, str], body: bytes) -> Reply:
        assert url == URL
        self.receiver.got.append((self.deployment.clock(), headers, body))
        if self.receiver.is_down:
            raise Explained("the connection to the receiver failed: ConnectionRefusedError")
        return Reply(204)


@pytest.fixture
def receiver() -> Receiver:
    return Receiver()


@pytest.fixture
def shop(open_shop: OpenShop, receiver: Receiver) -> Shop:
    return open_shop(webhooks=queue_handler(queue_webhooks.deliver, provider=receiver.sender))


def post(shop: Shop, path: str, body: Any = None, key: str = "key-1") -> dict[str, Any]:
    headers = {"content-type": "application/json", "idempotency-key": key}
    answer = shop.stack.call("POST", path, headers, json.dumps(body or {}), subject="ada")
    assert answer.status in (200, 201, 202), answer.text
    return dict(answer.json)


def only_webhook(shop: Shop) -> dict[str, Any]:
    [hook] = shop.get("/webhooks").json["webhooks"]
    return dict(hook)


def to_the_next_attempt(shop: Shop, job_id: str) -> None:
    """Let the clock jump to when the table has the delivery due."""
    [row] = shop.shop_items(job_id.removesuffix("-due"))
    shop.clock.advance(row["dueAt"] / 1000 - shop.clock.now())
    shop.settle()
    shop.run_for(0)


def test_every_job_of_an_order_is_told_signed_and_once(shop: Shop, receiver: Receiver) -> None:
    secret = post(shop, "/webhooks", {"url": URL})["secret"]

    job_id = shop.checkout().json["jobId"]
    shop.run_until_idle()

    assert {told["data"]["id"] for told in receiver.told} == {f"{job_id}:{name}" for name in SUBSCRIBERS}
    assert {told["type"] for told in receiver.told} == {"job.completed"}
    assert len({headers["webhook-id"] for _, headers, _ in receiver.got}) == len(receiver.got)
    assert all(is_signed(secret, headers, body, at) for at, headers, body in receiver.got)


def test_a_delivery_is_a_job_that_its_owner_can_look_at(shop: Shop, receiver: Receiver) -> None:
    hook = post(shop, "/webhooks", {"url": URL})["id"]

    job_id = post(shop, f"/webhooks/{hook}/ping")["jobId"]
    shop.run_until_idle()

    assert shop.states(job_id) == {"webhooks": "completed"}
    assert shop.status(job_id)["webhooks"]["result"] == {"status": 204}
    assert shop.get(f"/jobs/{job_id}", caller="bola").status == 404
    assert receiver.told == [
        {"type": "webhook.ping", "timestamp": "2026-11-30T12:00:00.000Z", "data": {"id": hook}}
    ]


def test_an_owner_without_a_webhook_costs_reads_and_neither_write_nor_message(shop: Shop) -> None:
    post(shop, "/webhooks", {"url": URL})
    shop.order(1001, caller="bola")
    with shop.without("WebhooksOutcomesFunction"):
        shop.run_until_idle()

    with shop.aws.metered() as calls:
        shop.settle()

    assert {call.operation for call in calls} == {"GetItem"}
    assert shop.waiting("WebhooksQueue") == 0


def test_a_receiver_that_is_down_is_tried_for_three_days_then_disabled_and_a_redrive_delivers(
    shop: Shop, receiver: Receiver
) -> None:
    shop.expects("job.attempt_failed")
    shop.stack.schedules = [one for one in shop.stack.schedules if "WebhooksDue" in one.name]
    with shop.without("LoyaltyFunction"):
        shop.order(1001)
        shop.settle()
    hook = post(shop, "/webhooks", {"url": URL})["id"]
    receiver.is_down = True
    shop.run_until_idle()
    [row] = shop.shop_items("delivery-")
    job_id = json.loads(row["event"])["id"]
    for _ in range(7):
        assert shop.waiting("WebhooksQueue") == 0
        to_the_next_attempt(shop, job_id)

    assert shop.states(job_id) == {"webhooks": "dead"}
    times = [at for at, _, _ in receiver.got]
    waits = [round(later - earlier) for earlier, later in pairwise(times)]
    # each up to a tenth later, whole seconds of SQS, and the minute of the schedule
    wanted = zip(waits, SCHEDULE[1:], strict=True)
    assert all(ceiling <= wait <= ceiling * 1.1 + MINUTE + 1 for wait, ceiling in wanted)
    assert times[-1] - times[0] >= 72 * HOUR
    assert len({headers["webhook-id"] for _, headers, _ in receiver.got}) == 1
    assert len({headers["webhook-timestamp"] for _, headers, _ in receiver.got}) == len(SCHEDULE)
    assert len(shop.status(job_id)["webhooks"]["failures"]) == len(SCHEDULE)
    assert only_webhook(shop)["state"] == "disabled"
    assert "ConnectionRefusedError" in only_webhook(shop)["reason"]

    receiver.is_down = False
    post(shop, f"/webhooks/{hook}/ping", key="mended")
    shop.run_until_idle()
    assert only_webhook(shop)["state"] == "enabled"
    redrive(shop, "webhooks")

    assert shop.states(job_id) == {"webhooks": "completed"}
    assert receiver.got[-1][1]["webhook-id"] == receiver.got[0][1]["webhook-id"]


def test_a_dead_job_is_told_too_and_its_later_completion_as_well(shop: Shop, receiver: Receiver) -> None:
    shop.expects("job.attempt_failed")
    post(shop, "/webhooks", {"url": URL})
    event = shop.order(1001, email="ada.example.com")
    shop.run_until_idle()
    shop.set_attribute("order-1001", "email", "ada@example.com")
    redrive(shop, "receipts")
    shop.run_until_idle()

    kinds = [told["type"] for told in receiver.told if told["data"]["id"] == f"{event.id}:receipts"]
    assert kinds == ["job.dead", "job.completed"]


def test_a_campaign_tells_of_its_steps_and_not_of_each_mail(open_shop: OpenShop, receiver: Receiver) -> None:
    deliveries = queue_handler(queue_webhooks.deliver, provider=receiver.sender)
    shop = open_shop(campaigns.steps_of(4), webhooks=deliveries)
    post(shop, "/webhooks", {"url": URL})
    campaigns.join(shop, 6)

    campaigns.start(shop)
    shop.run_until_idle()

    assert campaigns.got(shop) == campaigns.each_once(6)
    assert [told["data"]["id"].rpartition(":")[2] for told in receiver.told] == ["campaigns"] * 2


def test_no_message_holds_a_secret_or_a_url(shop: Shop) -> None:
    secret = post(shop, "/webhooks", {"url": URL})["secret"]
    with shop.without("WebhooksFunction"):
        shop.order(1001)
        shop.run_until_idle()

    messages = shop.aws.sqs.queue(shop.stack.ref("WebhooksQueue")).messages
    assert len(messages) == len(SUBSCRIBERS)
    assert not any(text in message.body for message in messages for text in (secret, URL))
