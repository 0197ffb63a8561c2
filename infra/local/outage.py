"""`outage`: receipts pile up while the mail provider is down for an hour, and what comes of them.

Everything goes the real way: checkout, stream, relay, topic, queues, schedules. Only the clock is ours, so
that the hour, and the day for which receipts are retried, pass as fast as this machine can work.
"""

from __future__ import annotations

import json
import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from rich.console import Console

from handlers.postroom.aws.expressions import from_attributes
from handlers.postroom.errors import Transient
from handlers.postroom.jobs import CallJob
from handlers.postroom.retries import Jitter
from handlers.shop.ports import Mail
from infra.local.aws import LocalAws
from infra.local.aws.clock import ManualClock
from infra.local.cart import cart
from infra.local.driving import run_for, run_until_idle
from infra.local.histogram import busiest, told
from infra.local.local_run import ROOT
from infra.local.providers.cards import CardGateway
from infra.local.providers.outages import Switch
from infra.local.queue_mapping import QueueMapping
from infra.local.stack import Options, Stack
from infra.local.stubs import StubCards, calling, stub_runner

OUTAGE_SECONDS = 3_600
ARRIVAL_SECONDS = 60
"""All orders come within the outage's first minute: without jitter, they would come back in one, too."""
PROMPT_SECONDS = 1.0
"""A subscriber that is not concerned is done within this time of its order."""
LOCKSTEP_SHARE = 0.25
"""More than this part of all receipts in one minute after the outage is hammering."""
WIDTH = 100
_PARAMETERS = {"CardsUrl": "http://127.0.0.1", "MailUrl": "smtp://127.0.0.1", "MailFrom": "shop@example.com"}


class Request(NamedTuple):
    """A mail handed in, `at` seconds after the outage began."""

    at: float
    key: str
    accepted: bool


@dataclass
class Mailer:
    """The provider, down at first. Its log takes no notice of keys: twice is twice."""

    t: Callable[[], float]
    requests: list[Request] = field(default_factory=list)

    def send(self, _mail: Mail, *, key: str) -> str:
        at = self.t()
        accepted = at >= OUTAGE_SECONDS
        self.requests.append(Request(at, key, accepted))
        if not accepted:
            raise Transient("the mail server is down")
        return f"<{key}>"


@dataclass(frozen=True)
class Outage:
    """What came of one. Times are in simulated seconds, `seconds` in real ones."""

    orders: int
    requests: Sequence[Request]
    slowest_other: float
    violations: Sequence[str]
    lasted: float
    seconds: float

    @property
    def retries(self) -> list[float]:
        """When mails were handed in that had been before."""
        first: dict[str, Request] = {}
        return [each.at for each in self.requests if first.setdefault(each.key, each) is not each]

    @property
    def sent(self) -> list[float]:
        """When they were accepted."""
        return [request.at for request in self.requests if request.accepted]


def outage(orders: int) -> int:
    """Show it with the receipts' own jitter and without. Returns 1 when a promise is broken, else 0."""
    console = Console()
    console.width = max(console.width, WIDTH)
    jitter = calling("receipts").retry.jitter
    with ProcessPoolExecutor(2, initializer=logging.disable, initargs=(logging.CRITICAL,)) as pool:
        ours = pool.submit(measure, orders, jitter)
        other = pool.submit(measure, orders, Jitter.NONE, receipts_only=True)
        with_jitter, without = ours.result(), other.result()
    console.print(_summary(with_jitter), highlight=False, soft_wrap=True)
    console.print(told(orders, with_jitter.retries, without.retries), highlight=False)
    console.print(_compared(with_jitter, without), highlight=False, soft_wrap=True)
    violations = [*with_jitter.violations, *without.violations, *hammering(with_jitter)]
    for violation in violations:
        console.print(f"VIOLATION: {violation}", highlight=False, soft_wrap=True)
    return 1 if violations else 0


def measure(orders: int, jitter: Jitter, *, receipts_only: bool = False) -> Outage:
    """Let it happen, until nothing is left to do. `receipts_only` leaves the other subscribers out."""
    begun = time.monotonic()
    clock = ManualClock()
    opened = clock.now()
    mailer = Mailer(lambda: round(clock.now() - opened, 3))
    stack = _stack(clock, mailer, jitter)
    if receipts_only:
        concerned = ("RelayFunction", "ReceiptsFunction")
        stack.mappings = [one for one in stack.mappings if one.function.name in concerned]
    keys = _place(stack, clock, orders)
    run_until_idle(stack, clock)
    violations = [*mail_violations(mailer.requests, keys), *_left(stack)]
    if not receipts_only:
        violations += _job_violations(stack)
    return Outage(
        orders=orders,
        requests=mailer.requests,
        slowest_other=0.0 if receipts_only else max(_other_delays(stack).values()),
        violations=violations,
        lasted=clock.now() - opened,
        seconds=time.monotonic() - begun,
    )


def hammering(outage: Outage) -> list[str]:
    """What speaks for receipts that came back in lockstep."""
    minute, count = busiest(outage.sent, 60)
    if count <= max(1, LOCKSTEP_SHARE * outage.orders):
        return []
    return [f"{count} of {outage.orders} receipts came back in minute {minute}"]


def mail_violations(requests: Sequence[Request], keys: Sequence[str]) -> Iterator[str]:
    """What speaks against each of these keys having been accepted once."""
    sent = Counter(request.key for request in requests if request.accepted)
    for key in keys:
        if sent[key] != 1:
            yield f"{key} was sent {sent[key]} times"


def _stack(clock: ManualClock, mailer: Mailer, jitter: Jitter) -> Stack:
    receipts: CallJob[Any, Any] = calling("receipts")
    runner = stub_runner(
        mailer,
        StubCards(CardGateway(Switch(clock.now))),
        replace(receipts, retry=replace(receipts.retry, jitter=jitter)),
    )
    options = Options(parameters=_PARAMETERS, runner=runner, shortcut=True)
    return Stack.from_template(ROOT / "template.yaml", LocalAws(clock), options)


def _place(stack: Stack, clock: ManualClock, orders: int) -> list[str]:
    """Place the orders, evenly over the time in which they arrive. Returns the keys of their receipts."""
    keys = []
    for number in range(orders):
        due = ARRIVAL_SECONDS * number // orders
        if due > ARRIVAL_SECONDS * (number - 1) // orders:
            run_for(stack, clock, 1)
        keys.append(f"{_checkout(stack, number)}:receipts")
    return keys


def _checkout(stack: Stack, number: int) -> str:
    headers = {"content-type": "application/json", "idempotency-key": f"order-{number}"}
    answer = stack.call("POST", "/checkout", headers, json.dumps(cart("ada@example.com")))
    if answer.status != 202:
        raise RuntimeError(f"an order was refused: {answer.status} {answer.text}")
    return str(answer.headers["location"]).removeprefix("/jobs/")


def _left(stack: Stack) -> Iterator[str]:
    fed = {mapping.source_arn for mapping in stack.mappings if isinstance(mapping, QueueMapping)}
    dead = {name for name, _ in stack.deployed.of_type("AWS::SQS::Queue") if "DeadLetter" in name}
    for queue in [*fed, *map(stack.ref, dead)]:
        if left := len(stack.aws.sqs.queue(queue).messages):
            yield f"{left} messages are left in {queue}"


def _job_violations(stack: Stack) -> Iterator[str]:
    for row in _rows(stack, "JobsTable"):
        if row["state"] != "completed":
            yield f"{row['pk']}:{row['sk']} is {row['state']}"
    for job, delay in _other_delays(stack).items():
        if delay > PROMPT_SECONDS:
            yield f"{job} was delayed by {delay:g} s"


def _other_delays(stack: Stack) -> dict[str, float]:
    """How long after its order each job of another subscriber was done."""
    born = {
        json.loads(row["event"])["id"]: row["bornAt"]
        for row in _rows(stack, "ShopTable")
        if row["sk"] == "entity"
    }
    return {
        f"{row['pk']}:{row['sk']}": (row["endedAt"] - born[row["pk"]]) / 1000
        for row in _rows(stack, "JobsTable")
        if row["sk"] != "receipts" and "endedAt" in row
    }


def _rows(stack: Stack, table: str) -> list[Mapping[str, Any]]:
    return [from_attributes(item) for item in stack.aws.dynamodb.table(stack.ref(table)).items]


def _summary(outage: Outage) -> str:
    sent = outage.sent
    return (
        f"{outage.orders} orders in a minute, the mail provider down for an hour: {len(sent)} receipts sent "
        f"between {min(sent):.0f} and {max(sent):.0f} s, {len(outage.requests)} tries, "
        f"{len(outage.violations)} violations. Slowest job of another subscriber: "
        f"{outage.slowest_other:g} s after its order. {outage.seconds:.0f} s for {outage.lasted:.0f} "
        "simulated seconds"
    )


def _compared(with_jitter: Outage, without: Outage) -> str:
    counts = [busiest(each.sent, width)[1] for width in (1, 60) for each in (with_jitter, without)]
    return (
        f"After the outage, the busiest second brought {counts[0]} receipts with jitter and {counts[1]} "
        f"without, the busiest minute {counts[2]} and {counts[3]}. Without: {without.seconds:.0f} s"
    )
