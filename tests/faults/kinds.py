"""Subscribers of every kind that the engine knows and the shop lacks. Their effects count, so twice shows."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from handlers.postroom.aws.queue_entry import QueueEntry, queue_handler
from handlers.postroom.errors import Permanent, Transient
from handlers.postroom.events import Event
from handlers.postroom.jobs import (
    Call,
    CallJob,
    Commit,
    CommitJob,
    InDoubt,
    Job,
    JobType,
    call_job,
    commit_job,
)
from handlers.postroom.retries import RetryPolicy
from handlers.postroom.storage import Key, Update
from handlers.shop.orders import ORDER_PAID, OrderPaid, aggregate_of, order_key
from infra.testkit.faults import Killed

RETRY = RetryPolicy(attempts=10, base_ms=1_000, cap_ms=60_000)

AnyJob = CommitJob[Any] | CallJob[Any, Any]


class Desk(Protocol):
    """A provider. `stamp` honours keys; `print` does not know any."""

    def stamp(self, order_id: str, *, key: str) -> str: ...

    def print(self, order_id: str) -> str: ...


@dataclass
class FrontDesk:
    """`trouble` is what it does to everybody until it is mended; `pause` lets the time pass that it takes."""

    trouble: BaseException | None = None
    pause: Callable[[], None] = lambda: None
    stamped: dict[str, str] = field(default_factory=dict)
    printed: list[str] = field(default_factory=list)

    def stamp(self, order_id: str, *, key: str) -> str:
        self.pause()
        if self.trouble is not None:
            # anew each time: an exception that is raised again keeps the traces of all times before
            raise type(self.trouble)(*self.trouble.args)
        return self.stamped.setdefault(key, f"stamp-{order_id}")

    def print(self, order_id: str) -> str:
        self.printed.append(order_id)
        return f"label-{order_id}"


def tally_key(order_id: str, subscriber: str) -> Key:
    return Key("shop", aggregate_of(order_id), f"tally-{subscriber}")


def tallied(event: Event[OrderPaid], subscriber: str) -> list[Update]:
    """Two counters, neither of which forgives a second time; the customer's is contended for."""
    customer = Key("shop", f"customer-{event.data.customer_id}", f"tally-{subscriber}")
    return [
        Update(tally_key(event.data.order_id, subscriber), add={"times": 1}, condition=None),
        Update(customer, add={"times": 1}, condition=None),
    ]


def load_order(event: Event[OrderPaid]) -> Mapping[str, Key]:
    return {"order": order_key(event.data.order_id)}


@commit_job("counting", on=ORDER_PAID, retry=RETRY)
def count(job: Job[OrderPaid]) -> Commit:
    return Commit(tallied(job.event, "counting"))


@commit_job("stumbling", on=ORDER_PAID, retry=RETRY, load=load_order)
def stumble(job: Job[OrderPaid]) -> Commit:
    job.require("order")
    if job.attempt == 1:
        raise Transient("not now")
    return Commit(tallied(job.event, "stumbling"), result={"attempt": job.attempt})


@call_job("stamping", on=ORDER_PAID, retry=RETRY)
def stamp_and_count(job: Job[OrderPaid]) -> Call[Desk]:
    return Call(
        lambda desk: {"stamp": desk.stamp(job.data.order_id, key=job.idempotency_key)},
        then=tallied(job.event, "stamping"),
    )


@call_job("frail", on=ORDER_PAID, retry=RetryPolicy(attempts=3, base_ms=1_000, cap_ms=4_000))
def stamp_three_times(job: Job[OrderPaid]) -> Call[Desk]:
    return Call(lambda desk: {"stamp": desk.stamp(job.data.order_id, key=job.idempotency_key)})


@call_job("labels", on=ORDER_PAID, retry=RETRY, claim=InDoubt.RETRY)
def print_label(job: Job[OrderPaid]) -> Call[Desk]:
    return Call(lambda desk: {"label": desk.print(job.data.order_id)})


@call_job("gifts", on=ORDER_PAID, retry=RETRY, claim=InDoubt.DEAD)
def print_gift_card(job: Job[OrderPaid]) -> Call[Desk]:
    return Call(lambda desk: {"card": desk.print(job.data.order_id)})


KINDS: Sequence[AnyJob] = (
    count,
    stumble,
    stamp_and_count,
    stamp_three_times,
    print_label,
    print_gift_card,
)
OUT_OF_MEMORY, OUT_OF_ORDER, UNACCEPTABLE = Killed("memory"), Transient("out of order"), Permanent("never")


def kind_entry(job_type: JobType[Any], desk: Any) -> QueueEntry:
    if isinstance(job_type, CallJob):
        return queue_handler(job_type, provider=lambda _: desk)
    assert isinstance(job_type, CommitJob)
    return queue_handler(job_type)
