"""Bugs that people really write, planted one by one through the product's ports: the sweep must see each."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from botocore.exceptions import ClientError, HTTPClientError

from handlers import queue_receipts
from handlers.postroom import job_rows
from handlers.postroom.aws.deployment import Deployment
from handlers.postroom.aws.entry import Entry, LambdaContext, LambdaHandler
from handlers.postroom.aws.http_entry import http_entry
from handlers.postroom.aws.queue import SqsQueue
from handlers.postroom.aws.queue_entry import _changes, _performer, batch_response
from handlers.postroom.aws.stream_entry import stream_record
from handlers.postroom.aws.tables import DynamoStore
from handlers.postroom.aws.topic import SnsTopic
from handlers.postroom.consumer import Consumer
from handlers.postroom.deliveries import Delivery
from handlers.postroom.errors import CancelledBecause, ConditionFailed, TransactionCancelled
from handlers.postroom.events import read_envelope
from handlers.postroom.http import Answer, Request
from handlers.postroom.jobs import Call, Job, call_job
from handlers.postroom.problems import Problem
from handlers.postroom.records import GIVEN_BACK, Outcome, Record
from handlers.postroom.relay import Entry as Published
from handlers.postroom.relay import OutboxRow, Rejection, Relay, relay_stream
from handlers.postroom.settlement import Surroundings
from handlers.postroom.status import JobStatus
from handlers.postroom.storage import Item, Key, Put, Update, Write
from handlers.postroom.sweep import Sweep
from handlers.shop.orders import ORDER_PAID, Order, OrderPaid, order_key
from handlers.shop.ports import Mailer
from handlers.shop.receipts import receipt_for
from infra.local.stubs import StubCards
from tests.faults.kinds import (
    RETRY,
    AnyJob,
    count,
    print_gift_card,
    stamp_and_count,
    stamp_three_times,
    stumble,
    tallied,
)
from tests.faults.world import Setting, World, checkout_with, watch_with

Store = Callable[[Deployment], DynamoStore]
Outcomes = dict[str, Outcome]


@dataclass(frozen=True)
class Bug:
    """`shows_in` are the scenarios that are swept until one of them breaks an invariant."""

    name: str
    shows_in: tuple[str, ...]
    plant: Callable[[Setting], Setting]


RELAY, SWEEP = "handlers.stream_relay.handler", "handlers.schedule_sweep.handler"
GIFTS = "handlers.queue_gifts.handler"


@dataclass(frozen=True)
class Rewired:
    """A subscriber's entry, wired by hand so that one part of it can be another."""

    job_type: AnyJob
    store: Store = DynamoStore
    provider: Callable[[World], Any] = lambda world: world.desk
    before: Callable[[Deployment, Sequence[Record]], None] = lambda _deployment, _records: None
    answered: Callable[[Sequence[Record], Outcomes], Mapping[str, Any]] = batch_response
    one_by_one: bool = False

    def __call__(self, world: World) -> Entry:
        def build(deployment: Deployment) -> LambdaHandler:
            store = self.store(deployment)
            around = Surroundings(store, deployment.clock, deployment.chance, deployment.sleep)
            perform = _performer(lambda _: self.provider(world), deployment)
            consumer: Consumer[Any] = Consumer(self.job_type, around, perform)
            queue = SqsQueue(deployment)

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


def consumed_by(subscriber: str, rewired: Rewired) -> Callable[[Setting], Setting]:
    return entry(f"handlers.queue_{subscriber}.handler", rewired)


def counting(rewired: Rewired) -> Callable[[Setting], Setting]:
    return consumed_by("counting", rewired)


def entry(handler: str, make: Callable[[World], Entry]) -> Callable[[Setting], Setting]:
    return lambda setting: replace(setting, entries={**setting.entries, handler: make})


# -- stores that do what they should not


class InTwoSteps(DynamoStore):
    """Marker and effect, one after the other."""

    def _in_order(self, writes: Sequence[Write]) -> Iterable[Write]:
        return writes

    def transact(self, writes: Sequence[Write]) -> None:
        for write in self._in_order(writes):
            try:
                self.write(write)
            except ConditionFailed as failed:
                because = CancelledBecause("ConditionalCheckFailed", "", failed.old)
                raise TransactionCancelled(
                    tuple(because if each is write else None for each in writes)
                ) from failed


class MarkerFirst(InTwoSteps):
    def _in_order(self, writes: Sequence[Write]) -> Iterable[Write]:
        return sorted(writes, key=lambda write: write.key.table != "jobs")


class MarkerLast(InTwoSteps):
    def _in_order(self, writes: Sequence[Write]) -> Iterable[Write]:
        return sorted(writes, key=lambda write: write.key.table == "jobs")


class ConflictIsDuplicate(DynamoStore):
    def transact(self, writes: Sequence[Write]) -> None:
        try:
            super().transact(writes)
        except TransactionCancelled as cancelled:
            done = CancelledBecause("ConditionalCheckFailed", "", {"state": "completed"})
            raise TransactionCancelled(tuple(reason and done for reason in cancelled.reasons)) from cancelled


class Unconditional(DynamoStore):
    def write(self, write: Write) -> None:
        super().write(replace(write, condition=None) if isinstance(write, Put) else write)


class DeadIsDead(DynamoStore):
    """Takes whatever message comes for the one that its job died with."""

    now_at: Sequence[Record] = ()

    def read(self, keys: Iterable[Key]) -> dict[Key, Item]:
        return {
            key: {**item, "messageId": self.now_at[0].message_id} if item.get("state") == "dead" else item
            for key, item in super().read(keys).items()
        }


class TellingLedger(DynamoStore):
    """Notes whom a failure concerned, by address."""

    def write(self, write: Write) -> None:
        if isinstance(write, Update) and "failures" in write.append:
            order = order_key(write.key.pk.removeprefix("order-").removesuffix("-paid"))
            address = self.read([order])[order]["email"]
            entries = [{**each, "customer": address} for each in write.append["failures"]]
            write = replace(write, append={"failures": entries})
        super().write(write)


class Overruling(DynamoStore):
    """Believes the dead letter, not the row."""

    def read(self, keys: Iterable[Key]) -> dict[Key, Item]:
        return {key: {} for key in super().read(keys)}

    def write(self, write: Write) -> None:
        super().write(replace(write, condition=None) if isinstance(write, Update) else write)


# -- consumers


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


MAILED_BY_ATTEMPT = Rewired(key_of_the_attempt, provider=lambda world: world.mail)
TELLING = Rewired(queue_receipts.send_receipt, store=TellingLedger, provider=lambda world: world.mail)


# -- relay, checkout, status, watch


class DeafTopic(SnsTopic):
    def publish(self, entries: Sequence[Published]) -> Sequence[Rejection]:
        super().publish(entries)
        return []


class MarksFirst(Relay):
    def publish(self, rows: Sequence[OutboxRow]) -> int | None:
        self._mark([row.key for row in rows])
        return super().publish(rows)


def relay(
    made: type[Relay] = Relay,
    topic: type[SnsTopic] = SnsTopic,
    events: frozenset[str] = frozenset({"INSERT"}),
) -> Callable[[World], Entry]:
    def build(deployment: Deployment) -> LambdaHandler:
        relay = Relay(
            topic(deployment),
            DynamoStore(deployment),
            deployment.new_id,
            deployment.sleep,
            deployment.chance,
        )

        def handle(event: Any, _context: LambdaContext) -> Any:
            taken = [{**raw, "eventName": "INSERT"} for raw in event["Records"] if raw["eventName"] in events]
            records = [record for raw in taken if (record := stream_record(raw))]
            left = relay_stream(records, relay, deployment.clock())
            return {"batchItemFailures": [] if left is None else [{"itemIdentifier": left}]}

        return handle

    return lambda _world: Entry(build)


def sweep_marking_first(_world: World) -> Entry:
    def build(deployment: Deployment) -> LambdaHandler:
        relay = MarksFirst(
            SnsTopic(deployment),
            DynamoStore(deployment),
            deployment.new_id,
            deployment.sleep,
            deployment.chance,
        )
        return lambda _event, _context: {"swept": Sweep(relay).run(deployment.clock())}

    return Entry(build)


def republishing(setting: Setting) -> Setting:
    """Neither the mapping's filter nor the relay keeps to inserts."""

    def unfiltered(template: Mapping[str, Any]) -> Mapping[str, Any]:
        resources = {name: _without_filter(body) for name, body in template["Resources"].items()}
        return {**template, "Resources": resources}

    relayed = entry("handlers.stream_relay.handler", relay(events=frozenset({"INSERT", "MODIFY"})))(setting)
    return replace(relayed, change_template=unfiltered)


def _without_filter(body: Mapping[str, Any]) -> Mapping[str, Any]:
    if body["Type"] != "AWS::Lambda::EventSourceMapping":
        return body
    kept = {name: value for name, value in body["Properties"].items() if name != "FilterCriteria"}
    return {**body, "Properties": kept}


def everybodys_status(world: World) -> Entry:
    def build(deployment: Deployment) -> Callable[[Request], Answer]:
        status = JobStatus(DynamoStore(deployment), world.job_types)

        def respond(request: Request) -> Answer:
            for caller in ("alice", "bob"):
                with suppress(Problem):
                    return status(replace(request, caller=caller))
            return status(request)

        return respond

    return http_entry(build)


@dataclass(frozen=True)
class Forgetful(StubCards):
    def refund(self, charge_id: str) -> None:
        return None


def never_refunding(world: World) -> Entry:
    world.cards.target = Forgetful(world.gateway)
    return checkout_with(DynamoStore)(world)


def unclaimed(world: World) -> Entry:
    return Rewired(replace(print_gift_card, claim=None))(world)


def overruling_watch(world: World) -> Entry:
    return watch_with(Overruling)(world)


def cards(make: Callable[[World], Entry]) -> Callable[[Setting], Setting]:
    return entry("handlers.api_checkout.handler", make)


_RACED = "checkout, raced by another payload"
_COUNTING, _FRAIL = ("commit, grouped",), ("redrive after a permanent error",)

BUGS: Sequence[Bug] = (
    Bug("marker written first", _COUNTING, counting(Rewired(count, store=MarkerFirst))),
    Bug(
        "marker written after the effect",
        _COUNTING,
        counting(Rewired(count, store=MarkerLast)),
    ),
    Bug(
        "acknowledged before the effect",
        _COUNTING,
        counting(Rewired(count, before=acked_first)),
    ),
    Bug(
        "retry acknowledged",
        ("commit, singly",),
        consumed_by("stumbling", Rewired(stumble, answered=all_acked)),
    ),
    Bug(
        "given back, and acknowledged",
        ("call, short of time",),
        consumed_by("stamping", Rewired(stamp_and_count, answered=given_back_acked)),
    ),
    Bug("deduplicated by message id", _COUNTING, entry("handlers.queue_counting.handler", by_message_id)),
    Bug(
        "dead on first sight of a redriven message",
        _FRAIL,
        consumed_by("frail", Rewired(stamp_three_times, store=DeadIsDead, one_by_one=True)),
    ),
    Bug(
        "killed by its receive count",
        _COUNTING,
        counting(Rewired(count, before=killed_by_receives)),
    ),
    Bug(
        "conflict read as duplicate",
        _COUNTING,
        counting(Rewired(count, store=ConflictIsDuplicate)),
    ),
    Bug("idempotency key of the attempt", ("receipts",), consumed_by("receipts", MAILED_BY_ATTEMPT)),
    Bug("call made without its claim", ("claimed call, dead in doubt",), entry(GIFTS, unclaimed)),
    Bug("ledger tells the address", ("dead at once",), consumed_by("receipts", TELLING)),
    Bug("publish result ignored", ("relay",), entry(RELAY, relay(topic=DeafTopic))),
    Bug(
        "marked before it is published",
        ("sweep",),
        entry("handlers.schedule_sweep.handler", sweep_marking_first),
    ),
    Bug("changes published too", ("relay",), republishing),
    Bug(
        "order put without condition",
        (_RACED,),
        cards(checkout_with(Unconditional)),
    ),
    Bug("refund forgotten", (_RACED,), cards(never_refunding)),
    Bug("status shown to everybody", ("status",), entry("handlers.api_jobs.handler", everybodys_status)),
    Bug(
        "watch overrules a result",
        ("redrive of what was done",),
        entry("handlers.schedule_watch.handler", overruling_watch),
    ),
)
