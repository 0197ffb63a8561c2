"""`bill`: what an order costs, step by step, as the model's meter counts it.

Nothing here is a known figure: the orders really go through the stack, and what the textbook does with the
same order is done on the same model and read off the same meter.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from infra.local.aws import LocalAws
from infra.local.aws.clock import ManualClock
from infra.local.cart import cart
from infra.local.functions import Function
from infra.local.local_run import ROOT
from infra.local.providers.cards import CardGateway
from infra.local.providers.mail import Mailbox
from infra.local.providers.outages import Switch
from infra.local.stack import Options, Stack, poll
from infra.local.stubs import StubCards, StubMailer, stub_runner

COMPARED = ("queue_receipts", "queue_loyalty", "queue_warehouse")
"""The subscribers that the textbook's order has as well; any other is listed after their total."""
WIDTH = 120
_SOON_SECONDS = 3_600
"""What runs by the night has no part in what an order costs."""
_PARAMETERS = {"CardsUrl": "http://127.0.0.1", "MailUrl": "smtp://127.0.0.1", "MailFrom": "shop@example.com"}


@dataclass(frozen=True)
class Step:
    """One step of a path: the calls that it made, and their request units."""

    name: str
    calls: Mapping[str, int]
    write_units: float
    read_units: float


class Ledger:
    """Collects steps from a model's meter."""

    def __init__(self, aws: LocalAws) -> None:
        self.steps: list[Step] = []
        self._aws = aws

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        with self._aws.metered() as calls:
            yield
        units = sum(call.write_units for call in calls), sum(call.read_units for call in calls)
        self.steps.append(Step(name, Counter(call.operation for call in calls), *units))


def measure(orders: int = 1) -> list[Step]:
    """Put orders of as many customers through the stack at once. Units are of all of them together."""
    stack, clock = _stack()
    for schedule in stack.schedules:
        # the first run of a deployment notes from where on it looks
        schedule.function.invoke({})
    ledger = Ledger(stack.aws)
    with ledger.step("api_checkout"):
        answers = [_checkout(stack, number) for number in range(orders)]
    for mapping in stack.mappings:
        with ledger.step(_module(mapping.function)):
            while poll(mapping):
                pass
    with ledger.step("api_jobs"):
        for number, location in enumerate(answers):
            _follow(stack, location, number)
    soon = [each for each in stack.schedules if each.next_due() - clock.now() <= _SOON_SECONDS]
    for schedule in sorted(soon, key=lambda each: each.next_due()):
        clock.advance(max(0.0, schedule.next_due() - clock.now()))
        with ledger.step(f"{_module(schedule.function)}, one run"):
            poll(schedule)
    return ledger.steps


def textbook() -> list[Step]:
    """The same order as it is usually written: outbox, processed markers, a transaction for each pair.

    Its job status and its sweeper are left out, because it usually has neither.
    """
    aws = LocalAws(ManualClock())
    client = aws.session().client("dynamodb")
    client.create_table(
        TableName="textbook",
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )

    def put(*names: str) -> None:
        items = [{"TableName": "textbook", "Item": {"pk": {"S": name}}} for name in names]
        if len(items) > 1:
            client.transact_write_items(TransactItems=[{"Put": item} for item in items])  # type: ignore[typeddict-item]
        else:
            client.put_item(TableName="textbook", Item={"pk": {"S": names[0]}})

    ledger = Ledger(aws)
    with ledger.step("order + outbox row + idempotency record"):
        put("order", "outbox", "idempotency")
    with ledger.step("outbox row, deleted when published"):
        client.delete_item(TableName="textbook", Key={"pk": {"S": "outbox"}})
    with ledger.step("receipt: marker"):
        put("receipt-marker")
    with ledger.step("loyalty: marker + points"):
        put("loyalty-marker", "points")
    with ledger.step("warehouse: marker + pick"):
        put("warehouse-marker", "pick")
    return ledger.steps


def is_compared(step: Step) -> bool:
    return not step.name.startswith("queue_") or step.name in COMPARED


def write_units(steps: Sequence[Step]) -> float:
    return sum(step.write_units for step in steps)


def bill(orders: int) -> int:
    """Print both bills. Returns the exit code."""
    steps = measure(orders)
    compared = [step for step in steps if is_compared(step)]
    others = [step for step in steps if step.calls and not is_compared(step)]
    what = "One order" if orders == 1 else f"{orders} orders at once; units are per order"
    table = _table(f"{what}, measured on the model")
    _add(table, compared, orders, "total")
    for other in others:
        _add(table, [other], orders)
    if others:
        _add_total(table, steps, orders, f"total with {', '.join(step.name for step in others)}")
    _add(table, textbook(), 1, "the textbook's, without status or sweeper")
    console = Console()
    console.width = max(console.width, WIDTH)
    console.print(table)
    return 0


def _table(title: str) -> Table:
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD)
    table.add_column("step", no_wrap=True)
    table.add_column("AWS calls", no_wrap=True)
    table.add_column("write units", justify="right")
    table.add_column("read units", justify="right")
    return table


def _add(table: Table, steps: Sequence[Step], orders: int, total: str = "") -> None:
    for step in steps:
        calls = " + ".join(f"{count} {operation}" for operation, count in step.calls.items())
        table.add_row(step.name, calls, _figure(step.write_units / orders), _figure(step.read_units / orders))
    if total:
        _add_total(table, steps, orders, total)


def _add_total(table: Table, steps: Sequence[Step], orders: int, name: str) -> None:
    table.add_section()
    read_units = sum(step.read_units for step in steps)
    figures = [_figure(units / orders) for units in (write_units(steps), read_units)]
    table.add_row(name, "", *figures, style="bold")
    table.add_section()


def _figure(units: float) -> str:
    return f"{units:g}"


def _stack() -> tuple[Stack, ManualClock]:
    clock = ManualClock()
    mailer = StubMailer(Mailbox(), Switch(clock.now))
    cards = StubCards(CardGateway(Switch(clock.now)))
    options = Options(parameters=_PARAMETERS, runner=stub_runner(mailer, cards))
    return Stack.from_template(ROOT / "template.yaml", LocalAws(clock), options), clock


def _checkout(stack: Stack, number: int) -> str:
    headers = {"content-type": "application/json", "idempotency-key": "order"}
    body = json.dumps(cart(f"customer{number}@example.com"))
    answer = stack.call("POST", "/checkout", headers, body, subject=_customer(number))
    return str(answer.headers["location"])


def _follow(stack: Stack, location: str, number: int) -> None:
    status = stack.call("GET", location, subject=_customer(number)).json
    if status["state"] != "completed":
        raise RuntimeError(f"an order did not complete: {status}")


def _customer(number: int) -> str:
    return f"customer-{number}"


def _module(function: Function) -> str:
    return function.settings.handler.split(".")[-2]
