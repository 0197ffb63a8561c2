"""The whole path on a clock in the test's hands: HTTP API, stream, relay, topic, queues, subscribers.

It is the real template on the AWS model, with the outside world (mail, cards) in this process. It fails
loudly: whatever a function raises, and every failure that the engine logs, fails the test unless the test has
said that it expects it.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from handlers.postroom import outbox
from handlers.postroom.acceptance import Acceptance
from handlers.postroom.aws.deployment import Deployment
from handlers.postroom.aws.entry import Entry
from handlers.postroom.aws.http_entry import http_entry
from handlers.postroom.aws.queue_entry import QueueEntry, queue_handler
from handlers.postroom.aws.tables import DynamoStore
from handlers.postroom.discovery import job_types
from handlers.postroom.events import Event
from handlers.postroom.http import Respond
from handlers.postroom.storage import Key, Put
from handlers.queue_campaign_mails import send_campaign_mail
from handlers.queue_login_codes import send_code
from handlers.queue_password_reset import send_link
from handlers.queue_receipts import send_receipt
from handlers.queue_reminders import send_reminder
from handlers.queue_welcome import send_welcome
from handlers.shop.checkout import checkout
from handlers.shop.login_codes import CodeMailer, Codes
from handlers.shop.orders import ORDER_PAID, Order, OrderLine, OrderPaid, aggregate_of, order_key
from handlers.shop.password_resets import LinkMailer
from infra.expand import expand, parameter_values, read_template
from infra.local.aws.clock import ManualClock
from infra.local.cart import cart
from infra.local.driving import run_for, run_until_idle
from infra.local.functions import FunctionSettings, InProcess, Invocation, Runner
from infra.local.http_messages import HttpAnswer, HttpRequest
from infra.local.providers.cards import CardGateway
from infra.local.providers.outages import Switch
from infra.local.stack import Options, Stack, poll
from infra.local.stubs import StubCards, links_over, reconcile_entry
from tests.openapi import published
from tests.path.cards import GuardedCards
from tests.path.clients import PluggedAws
from tests.path.facts import Facts
from tests.path.listener import Listener
from tests.path.mailer import Mailer
from tests.path.mortal import Mortal
from tests.path.names import resource_of

TEMPLATE = Path(__file__).parents[2] / "template.yaml"
PARAMETERS = {"CardsUrl": "http://cards.test", "MailUrl": "smtp://mail.test:25", "MailFrom": "s@example.com"}
SUBSCRIBERS = tuple(each.subscriber for each in job_types("handlers") if ORDER_PAID.name in each.on.names)
"""Those of a paid order."""
AMOUNT = 2_042_500
"""₦20,425 in kobo: what the cart of two shirts and a basket costs."""
OPENED = datetime(2026, 11, 30, 12, tzinfo=UTC).timestamp()

Changes = Mapping[str, Mapping[str, Any]]
"""Properties of the template's resources to replace, by logical id."""


@cache
def _expanded() -> tuple[Mapping[str, Any], Mapping[str, str]]:
    values = parameter_values(read_template(TEMPLATE), PARAMETERS)
    return expand(TEMPLATE, PARAMETERS), values


def _changed(template: Mapping[str, Any], changes: Changes) -> dict[str, Any]:
    resources = dict(template["Resources"])
    for logical_id, properties in changes.items():
        body = resources[logical_id]
        resources[logical_id] = {**body, "Properties": {**body["Properties"], **properties}}
    return {**template, "Resources": resources}


class JudgedStack(Stack):
    """Every answer of its API must be one that the published contract knows."""

    def handle(self, request: HttpRequest) -> HttpAnswer:
        answer = super().handle(request)
        faults = published().faults(request.method, request.path, answer)
        assert not faults, "\n".join(faults)
        return answer


class Shop(Facts):
    """One deployed shop. Times are in seconds since it opened (`t`)."""

    def __init__(
        self,
        changes: Changes | None = None,
        opened: float = OPENED,
        *,
        heartbeat: bool = False,
        **entries: Entry,
    ) -> None:
        """`opened` is epoch seconds. `entries` take the place of subscribers' own, by name (`receipts`)."""
        self.clock = ManualClock(opened)
        self.opened = opened
        self.aws = PluggedAws(self.clock)
        self.mailer = Mailer(Switch(self.clock.now), lambda: self.t)
        self.gateway = CardGateway(Switch(self.clock.now))
        self.cards = GuardedCards(StubCards(self.gateway), self.aws)
        self.listener = Listener(lambda: self.t)
        self.invocations: list[Invocation] = []
        self.metric_lines: list[str] = []
        self._expected: set[str] = set()
        self._entries = {
            "handlers.schedule_reconcile.handler": reconcile_entry(self.cards),
            "handlers.api_checkout.handler": http_entry(self._checkout),
            "handlers.queue_receipts.handler": queue_handler(send_receipt, provider=lambda _: self.mailer),
            "handlers.queue_welcome.handler": queue_handler(send_welcome, provider=lambda _: self.mailer),
            "handlers.queue_campaign_mails.handler": queue_handler(
                send_campaign_mail, provider=lambda _: self.mailer
            ),
            "handlers.queue_password_reset.handler": queue_handler(send_link, provider=self._links),
            "handlers.queue_reminders.handler": queue_handler(send_reminder, provider=lambda _: self.mailer),
            "handlers.queue_login_codes.handler": queue_handler(send_code, provider=self._codes),
            **{f"handlers.queue_{name}.handler": entry for name, entry in entries.items()},
        }
        template, values = _expanded()
        options = Options(
            parameters=PARAMETERS,
            runner=self._runner,
            observers=[self._observe],
            metrics=self.metric_lines.append,
            heartbeat=heartbeat,
        )
        self.stack = JudgedStack(_changed(template, changes or {}), values, self.aws, options)
        tables = {"SHOP_TABLE": self.stack.ref("ShopTable"), "JOBS_TABLE": self.stack.ref("JobsTable")}
        self.own = replace(self._surroundings(), environ=tables, _clients=self.aws.plug.clients)
        self.store = DynamoStore(self.own)

    @property
    def t(self) -> float:
        return round(self.clock.now() - self.opened, 3)

    def settle(self) -> int:
        """Do all that can be done at this instant."""
        moved = self.stack.settle()
        self.check()
        return moved

    def run_for(self, seconds: float) -> None:
        run_for(self.stack, self.clock, seconds)
        self.check()

    def run_until_idle(self) -> None:
        run_until_idle(self.stack, self.clock)
        self.check()

    def run_until(self, t: float) -> None:
        self.run_for(t - self.t)

    def poll(self, function: str) -> int:
        """Let one function take one batch."""
        moved = poll(self.stack.mapping_of(function))
        self.check()
        return moved

    @property
    def scheduled(self) -> set[str]:
        """Functions that run every minute or so: hours pass faster without."""
        return {schedule.function.name for schedule in self.stack.schedules}

    @contextmanager
    def without(self, *functions: str) -> Iterator[None]:
        """Leave functions alone for a while, as if their pollers and schedules were down."""
        mappings, schedules = self.stack.mappings, self.stack.schedules
        self.stack.mappings = [one for one in mappings if one.function.name not in functions]
        self.stack.schedules = [one for one in schedules if one.function.name not in functions]
        try:
            yield
        finally:
            self.stack.mappings, self.stack.schedules = mappings, schedules

    def expects(self, *troubles: str) -> None:
        """Name the troubles (log events, kinds of function errors) that belong to this test."""
        self._expected |= set(troubles)

    def check(self) -> None:
        """Fail for every trouble that nobody expects."""
        unexpected = [text for name, text in self._troubles() if name not in self._expected]
        assert not unexpected, "\n".join(unexpected)

    def close(self) -> None:
        """Fail as well for what was expected and never came. The shop is of no use after that."""
        self.check()
        unmet = self._expected - {name for name, _ in self._troubles()}
        assert not unmet, f"expected, and never came: {sorted(unmet)}"
        self.aws.unplug()

    def _troubles(self) -> list[tuple[str, str]]:
        errors = [(each.function, each.error) for each in self.invocations if each.error]
        crashes = [(error.kind, f"{name}: {error.message}\n{error.trace}") for name, error in errors]
        return [*self.listener.troubles, *crashes]

    def checkout(
        self, key: str = "order-1", *, caller: str = "ada", email: str = "ada@example.com"
    ) -> HttpAnswer:
        headers = {"content-type": "application/json", "idempotency-key": key}
        return self.stack.call("POST", "/checkout", headers, json.dumps(cart(email)), subject=caller)

    def post(self, path: str, body: Mapping[str, Any], key: str = "key-1", caller: str = "ada") -> HttpAnswer:
        headers = {"content-type": "application/json", "idempotency-key": key}
        return self.stack.call("POST", path, headers, json.dumps(body), subject=caller)

    def order(
        self,
        number: int,
        *,
        email: str = "ada@example.com",
        caller: str = "ada",
        told: Callable[[str], str] = lambda event: event,
    ) -> Event[OrderPaid]:
        """Write an order under a readable id, exactly as checkout does: one put, born with its event.

        `told` may tell the event otherwise, as another version of the code would.
        """
        event = self.event(number, caller)
        line = OrderLine("adire-shirt", "Adire shirt", AMOUNT, 1)
        order = Order(str(number), email, [line], AMOUNT, "NGN", event.time)
        item = {**order.attributes, **outbox.attributes(event), "owner": caller, "chargeId": "ch_1"}
        item["event"] = told(item["event"])
        self.store.write(Put(order_key(order.id), item))
        return event

    def event(self, number: int, caller: str = "ada") -> Event[OrderPaid]:
        return ORDER_PAID.new(
            aggregate_of(str(number)),
            OrderPaid(order_id=str(number), customer_id=caller, amount=AMOUNT, currency="NGN"),
            sequence=1,
            time=datetime.fromtimestamp(self.clock.now(), UTC),
            owner=caller,
            trace="",
        )

    def save_item(self, item: Mapping[str, Any]) -> None:
        """Put an item into the Shop table, whatever it holds."""
        rest = {name: value for name, value in item.items() if name not in ("pk", "sk")}
        self.store.write(Put(Key("shop", item["pk"], item["sk"]), rest))

    def set_attribute(self, order: str, name: str, value: str) -> None:
        """Change an order's item, as the shop itself or an operator may."""
        self.client("dynamodb").update_item(
            TableName=self.stack.ref("ShopTable"),
            Key={"pk": {"S": order}, "sk": {"S": "entity"}},
            UpdateExpression="SET #name = :value",
            ExpressionAttributeNames={"#name": name},
            ExpressionAttributeValues={":value": {"S": value}},
        )

    def publish(self, text: str, publication: str = "repeat-1", kind: str = "order.paid") -> None:
        """Put a text on the topic, past the outbox."""
        self.client("sns").publish(
            TopicArn=self.stack.ref("EventsTopic"),
            Message=text,
            MessageAttributes={
                "type": {"DataType": "String", "StringValue": kind},
                "publication": {"DataType": "String", "StringValue": publication},
            },
        )

    @contextmanager
    def broker_out_of_reach(self) -> Iterator[None]:
        """No topic answers. An error that the SDK does not retry, so that nobody waits in real time."""
        topics = dict(self.aws.sns.topics)
        self.aws.sns.topics.clear()
        try:
            yield
        finally:
            self.aws.sns.topics.update(topics)

    def mortal(self, subscriber: str) -> Mortal:
        """The process that a subscriber's function runs in, or the relay's."""
        runner = self.stack.functions[resource_of(subscriber, "Function")].runner
        assert isinstance(runner, Mortal)
        return runner

    def _observe(self, invocation: Invocation) -> None:
        self.invocations.append(invocation)

    def _runner(self, settings: FunctionSettings, surroundings: Callable[[], Deployment]) -> Runner:
        plug = self.aws.plug

        def with_clients() -> Deployment:
            if settings.handler.startswith("handlers.schedule_"):
                # Once a virtual minute each, and mostly for nothing: hours on the wire would take minutes.
                return replace(surroundings(), session=plug.short, _clients=plug.short_clients)
            return replace(surroundings(), _clients=plug.clients)

        self._surroundings = surroundings
        return Mortal(InProcess(settings.handler, with_clients, self._entries.get(settings.handler)))

    def _links(self, deployment: Deployment) -> LinkMailer:
        return links_over(self.mailer, deployment)

    def _codes(self, deployment: Deployment) -> CodeMailer:
        return CodeMailer(self.mailer, Codes(deployment.setting("CODE_SECRET")))

    def _checkout(self, deployment: Deployment) -> Respond:
        return Acceptance(
            work=checkout(self.cards),
            store=DynamoStore(deployment),
            now=lambda: datetime.fromtimestamp(deployment.clock(), UTC),
        )


def with_policy(entry: QueueEntry, **policy: Any) -> Any:
    """A subscriber's job type under another retry policy."""
    return replace(entry.job_type, retry=replace(entry.job_type.retry, **policy))
