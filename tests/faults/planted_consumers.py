"""Consumers with a bug in one place, wired by hand."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from botocore.exceptions import ClientError, HTTPClientError

from handlers import queue_receipts
from handlers.postroom import job_rows
from handlers.postroom.aws.deployment import Deployment
from handlers.postroom.aws.entry import Entry, LambdaContext, LambdaHandler
from handlers.postroom.aws.queue import SqsQueue
from handlers.postroom.aws.queue_entry import _changes, _performer, batch_response
from handlers.postroom.aws.tables import DynamoStore
from handlers.postroom.consumer import Consumer
from handlers.postroom.deliveries import Delivery
from handlers.postroom.events import read_envelope
from handlers.postroom.jobs import Call, Job, call_job
from handlers.postroom.records import GIVEN_BACK, Outcome, Record
from handlers.postroom.settlement import Surroundings
from handlers.postroom.storage import Key, Put
from handlers.shop.orders import ORDER_PAID, Order, OrderPaid, order_key
from handlers.shop.ports import Mailer
from handlers.shop.receipts import receipt_for
from tests.faults.kinds import (
    RETRY,
    AnyJob,
    count,
    print_gift_card,
    tallied,
)
from tests.faults.planted_stores import TellingLedger
from tests.faults.world import World

Store = Callable[[Deployment], DynamoStore]
Outcomes = dict[str, Outcome]


@dataclass(frozen=True)
class Rewired:
    """A subscriber's entry, wired by hand so that one part of it can be another."""

    job_type: AnyJob
    store: Store = DynamoStore
    provider: Callable[[World, Deployment], Any] = lambda world, _deployment: world.desk
    before: Callable[[Deployment, Sequence[Record]], None] = lambda _deployment, _records: None
    answered: Callable[[Sequence[Record], Outcomes], Mapping[str, Any]] = batch_response
    one_by_one: bool = False

    def __call__(self, world: World) -> Entry:
        def build(deployment: Deployment) -> LambdaHandler:
            store = self.store(deployment)
            queue = SqsQueue(deployment)
            around = Surroundings(store, deployment.clock, deployment.chance, deployment.sleep, queue)
            perform = _performer(lambda _: self.provider(world, deployment), deployment)
            consumer: Consumer[Any] = Consumer(self.job_type, around, perform)

            def handle(event: Any, context: LambdaContext) -> Any:
                records = [Record.from_lambda(raw) for raw in event["Records"]]
                self.before(deployment, records)
                outcomes: Outcomes = {}
                for batch in [[each] for each in records] if self.one_by_one else [records]:
                    store.now_at = batch  # type: ignore[attr-defined]
                    outcomes |= consumer.handle(batch, context.get_remaining_time_in_millis)
                queue.change_visibility(_changes(records, outcomes))
                return self.answered(records, outcomes)

            return handle

        return Entry(build)


def acked_first(deployment: Deployment, records: Sequence[Record]) -> None:
    for record in records:
        with suppress(ClientError, HTTPClientError):
            deployment.client("sqs").delete_message(
                QueueUrl=deployment.setting("QUEUE_URL"), ReceiptHandle=record.receipt_handle
            )


def all_acked(_records: Sequence[Record], _outcomes: Outcomes) -> Mapping[str, Any]:
    return {"batchItemFailures": []}


def given_back_acked(records: Sequence[Record], outcomes: Outcomes) -> Mapping[str, Any]:
    kept = [each for each in records if outcomes[each.message_id] is not GIVEN_BACK]
    return batch_response(kept, outcomes)


def killed_by_receives(deployment: Deployment, records: Sequence[Record]) -> None:
    store = DynamoStore(deployment)
    for record in (each for each in records if each.receive_count > 2):
        delivery: Delivery[Any] = Delivery(count, record, ORDER_PAID.parse(read_envelope(record.body)))
        update = job_rows.failed(delivery, TimeoutError("too many"), dead=True, now=deployment.clock())
        store.write(replace(update, condition=None))


def by_message_id(world: World) -> Entry:
    """A processed marker, but of the message."""

    def build(deployment: Deployment) -> LambdaHandler:
        store = DynamoStore(deployment)

        def one(record: Record) -> None:
            event = ORDER_PAID.parse(read_envelope(record.body))
            seen = Key("shop", f"message-{record.message_id}", "seen")
            if not store.read([seen]):
                row = job_rows.completed(Delivery(count, record, event), {}, deployment.clock())
                effect = tallied(event, "counting")
                store.transact([Put(seen, {}), *effect, replace(row, condition=None)])

        def handle(raw: Any, _context: LambdaContext) -> Any:
            for each in raw["Records"]:
                one(Record.from_lambda(each))
            return {"batchItemFailures": []}

        return handle

    return Entry(build)


@call_job(
    "receipts", on=ORDER_PAID, retry=RETRY, load=lambda event: {"order": order_key(event.data.order_id)}
)
def key_of_the_attempt(job: Job[OrderPaid]) -> Call[Mailer]:
    receipt = receipt_for(Order.from_item(job.require("order")))
    return Call(lambda mailer: {"id": mailer.send(receipt, key=f"{job.idempotency_key}-{job.attempt}")})


MAILED_BY_ATTEMPT = Rewired(key_of_the_attempt, provider=lambda world, _: world.mail)
TELLING = Rewired(queue_receipts.send_receipt, store=TellingLedger, provider=lambda world, _: world.mail)


def unclaimed(world: World) -> Entry:
    return Rewired(replace(print_gift_card, claim=None))(world)
