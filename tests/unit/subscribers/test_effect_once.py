"""Every subscriber, through its own entry: the same event three times, one effect."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import boto3
import pytest

from handlers import queue_invoices, queue_loyalty, queue_receipts, queue_warehouse
from handlers.postroom import outbox
from handlers.postroom.aws.deployment import Deployment
from handlers.postroom.aws.entry import Entry
from handlers.postroom.aws.queue_entry import QueueEntry
from handlers.postroom.aws.tables import DynamoStore
from handlers.postroom.jobs import Job
from handlers.postroom.storage import Item, Key, Put
from handlers.shop.loyalty import points_key
from handlers.shop.orders import ORDER_PAID, Order, OrderLine, OrderPaid, order_key
from handlers.shop.warehouse import pick_key
from tests.unit.aws import Invocation, make_tables, moto_session
from tests.unit.gateway import NOW
from tests.unit.providers.servers import MailSink, mail_sink

EVENT = ORDER_PAID.new(
    "order-1001",
    OrderPaid(order_id="1001", customer_id="alice", amount=2_042_500, currency="NGN"),
    sequence=1,
    time=NOW,
    owner="alice",
    trace="",
)
LINES = [
    OrderLine("adire-shirt", "Adire shirt", 850_000, 2),
    OrderLine("palm-basket", "Palm basket", 342_500, 1),
]
ORDER = Order("1001", "ada@example.com", LINES, 2_042_500, "NGN", NOW)
NOTHING_FAILED: dict[str, Any] = {"batchItemFailures": []}


@dataclass
class Shop:
    deployment: Deployment
    sink: MailSink

    @property
    def store(self) -> DynamoStore:
        return DynamoStore(self.deployment)

    def place(self, order: Order = ORDER) -> None:
        item = {**order.attributes, **outbox.attributes(EVENT), "owner": "alice"}
        self.store.write(Put(order_key("1001"), item))

    def deliver(self, entry: Entry, *records: dict[str, Any]) -> Any:
        return entry.on(self.deployment)({"Records": list(records)}, Invocation())

    def item(self, key: Key) -> Item | None:
        return self.store.read([key]).get(key)

    def job(self, subscriber: str) -> Item | None:
        return self.item(Key("jobs", EVENT.id, subscriber))


@pytest.fixture
def shop(monkeypatch: pytest.MonkeyPatch) -> Iterator[Shop]:
    with mail_sink() as sink, moto_session(monkeypatch) as session:
        make_tables(session)
        session.client("s3").create_bucket(
            Bucket="invoices", CreateBucketConfiguration={"LocationConstraint": "eu-west-1"}
        )
        environ = {
            "SHOP_TABLE": "Shop",
            "JOBS_TABLE": "Jobs",
            "QUEUE_URL": session.client("sqs").create_queue(QueueName="work")["QueueUrl"],
            "INVOICE_BUCKET": "invoices",
            "MAIL_URL": sink.url,
            "MAIL_FROM": "shop@example.com",
        }
        yield Shop(Deployment(environ, session, clock=NOW.timestamp, chance=lambda: 1.0), sink)


def record(message: str = "m1", receives: int = 1, publication: str = "p1", body: str = "") -> dict[str, Any]:
    return {
        "messageId": message,
        "receiptHandle": f"handle-{message}",
        "body": body or EVENT.to_json(),
        "attributes": {
            "ApproximateReceiveCount": str(receives),
            "SentTimestamp": str(int(NOW.timestamp() * 1000)),
        },
        "messageAttributes": {"publication": {"stringValue": publication, "dataType": "String"}},
    }


THREE_DELIVERIES = [
    pytest.param(
        [[record()], [record(receives=2)], [record("m2", publication="p2")]], id="one-after-the-other"
    ),
    pytest.param([[record(), record(receives=2), record("m2", publication="p2")]], id="in-one-batch"),
    pytest.param([[record("m1")], [record("m2")], [record("m3")]], id="IDEM-1-other-message-ids"),
]


@pytest.mark.parametrize("batches", THREE_DELIVERIES)
def test_points_are_credited_once(shop: Shop, batches: list[list[dict[str, Any]]]) -> None:
    answers = [shop.deliver(queue_loyalty.handler, *batch) for batch in batches]

    assert answers == [NOTHING_FAILED] * len(batches)
    entries = _all(shop.deployment.session, "customer-alice")
    assert [int(entry["points"]["N"]) for entry in entries] == [204]
    job = shop.job("loyalty")
    assert job is not None
    assert (job["state"], job["result"]) == ("completed", {"points": 204})


def test_a_naive_counter_would_credit_three_times(shop: Shop) -> None:
    client = shop.deployment.client("dynamodb")
    for _ in range(3):
        client.update_item(
            TableName="Shop",
            Key={"pk": {"S": "customer-alice"}, "sk": {"S": "balance"}},
            UpdateExpression="ADD points :points",
            ExpressionAttributeValues={":points": {"N": "204"}},
        )

    balance = shop.item(Key("shop", "customer-alice", "balance"))

    assert balance is not None
    assert balance["points"] == 612


@pytest.mark.parametrize("batches", THREE_DELIVERIES)
def test_an_order_is_picked_once(shop: Shop, batches: list[list[dict[str, Any]]]) -> None:
    shop.place()

    answers = [shop.deliver(queue_warehouse.handler, *batch) for batch in batches]

    assert answers == [NOTHING_FAILED] * len(batches)
    pick = shop.item(pick_key("1001"))
    assert pick is not None
    assert pick["job"]["id"] == "order-1001-paid:warehouse"
    assert pick["job"]["result"] == {"pick": "pick-1001"}
    assert [dict(line) for line in pick["lines"]] == [
        {"sku": "adire-shirt", "quantity": 2},
        {"sku": "palm-basket", "quantity": 1},
    ]
    assert shop.job("warehouse") is None


@pytest.mark.parametrize("batches", THREE_DELIVERIES)
def test_one_receipt_is_sent(shop: Shop, batches: list[list[dict[str, Any]]]) -> None:
    shop.place()

    answers = [shop.deliver(queue_receipts.handler, *batch) for batch in batches]

    assert answers == [NOTHING_FAILED] * len(batches)
    assert len(shop.sink.mails) == 1
    job = shop.job("receipts")
    assert job is not None
    assert job["result"] == {"messageId": "<order-1001-paid=3A=receipts@example.com>"}


@pytest.mark.parametrize("batches", THREE_DELIVERIES)
def test_one_invoice_is_stored(shop: Shop, batches: list[list[dict[str, Any]]]) -> None:
    shop.place()

    answers = [shop.deliver(queue_invoices.handler, *batch) for batch in batches]

    assert answers == [NOTHING_FAILED] * len(batches)
    stored = shop.deployment.client("s3").get_object(Bucket="invoices", Key="invoices/1001.pdf")
    assert stored["ContentType"] == "application/pdf"
    assert stored["Body"].read().startswith(b"%PDF")
    job = shop.job("invoices")
    assert job is not None
    assert job["result"] == {"location": "s3://invoices/invoices/1001.pdf"}


def test_a_receipt_to_what_is_no_address_is_dead_after_one_run(shop: Shop) -> None:
    shop.place(Order("1001", "bola.example.com", LINES, 2_042_500, "NGN", NOW))
    in_flight = _receive(shop)

    answer = shop.deliver(queue_receipts.handler, in_flight)

    assert answer == {"batchItemFailures": [{"itemIdentifier": in_flight["messageId"]}]}
    job = shop.job("receipts")
    assert job is not None
    assert (job["state"], job["attempts"]) == ("dead", 1)
    assert job["failures"][0]["message"] == "the order's e-mail is not an e-mail address"
    assert shop.sink.mails == []


def test_an_event_without_its_order_is_a_permanent_failure(shop: Shop) -> None:
    in_flight = _receive(shop)

    answer = shop.deliver(queue_warehouse.handler, in_flight)

    assert answer == {"batchItemFailures": [{"itemIdentifier": in_flight["messageId"]}]}
    job = shop.job("warehouse")
    assert job is not None
    assert (job["state"], job["failures"][0]["error"]) == ("dead", "NotFound")


UNREADABLE = {
    "BATCH-3-null": "null",
    "BATCH-3-array": "[1]",
    "BATCH-3-text": '""',
    "BATCH-3-cut": '{"id":',
    "JSON-1-repeated-key": EVENT.to_json().replace('"amount":', '"amount":1,"amount":'),
    "JSON-2-4301-digits": EVENT.to_json().replace("2042500", "9" * 4_301),
    "bool-amount": EVENT.to_json().replace("2042500", "true"),
    "zero-amount": EVENT.to_json().replace("2042500", "0"),
    "JSON-3-fraction-amount": EVENT.to_json().replace("2042500", "20425.5"),
    "null-currency": EVENT.to_json().replace('"NGN"', "null"),
    "lone-surrogate": EVENT.to_json().replace("alice", "\\ud800"),
}


@pytest.mark.parametrize(
    "entry", [queue_loyalty.handler, queue_warehouse.handler, queue_receipts.handler, queue_invoices.handler]
)
def test_unreadable_bodies_fail_and_the_good_one_among_them_does_not(shop: Shop, entry: QueueEntry) -> None:
    shop.place()
    handle = _receive(shop)["receiptHandle"]
    bad = [
        {**record(name, body=body.replace(EVENT.id, f"order-{name}-paid")), "receiptHandle": handle}
        for name, body in UNREADABLE.items()
    ]

    answer = shop.deliver(entry, *bad[:5], record("good"), *bad[5:])

    failed = [failure["itemIdentifier"] for failure in answer["batchItemFailures"]]
    assert failed == list(UNREADABLE)


def test_subscribers_are_functions_that_can_be_called_with_an_event_alone() -> None:
    job: Job[OrderPaid] = Job("order-1001-paid:loyalty", EVENT, 1)

    commit = queue_loyalty.credit_points.run(job)

    assert commit.result == {"points": 204}
    assert [write.key for write in commit.writes] == [points_key("alice", EVENT.id)]


def _receive(shop: Shop) -> dict[str, Any]:
    """A record that is really in flight, so that its visibility can be changed."""
    sqs, url = shop.deployment.client("sqs"), shop.deployment.setting("QUEUE_URL")
    sqs.send_message(QueueUrl=url, MessageBody="{}")
    [message] = sqs.receive_message(QueueUrl=url)["Messages"]
    return {**record(message["MessageId"]), "receiptHandle": message["ReceiptHandle"]}


def _all(session: boto3.Session, pk: str) -> list[dict[str, Any]]:
    answer = session.client("dynamodb").query(
        TableName="Shop", KeyConditionExpression="pk = :pk", ExpressionAttributeValues={":pk": {"S": pk}}
    )
    return [dict(item) for item in answer["Items"]]
