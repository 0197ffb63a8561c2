"""A day in the life of the stack on which every function asks AWS for all that it may ever need."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from boto3 import Session

from handlers.postroom.aws.expressions import key_attributes, to_attributes
from handlers.postroom.discovery import job_types
from handlers.postroom.events import utc_text
from handlers.postroom.outbox import SHARDS
from handlers.postroom.webhooks.receivers import Reach
from handlers.shop import audiences
from handlers.shop.audiences import Audience, Size
from handlers.shop.sales import list_of
from infra.checks.grants import Grant, Usage
from infra.checks.template import Template
from infra.local.aws import LocalAws
from infra.local.aws.clock import ManualClock
from infra.local.cart import cart
from infra.local.driving import run_until_idle
from infra.local.http_messages import HttpAnswer
from infra.local.providers.cards import CardGateway
from infra.local.providers.cards_app import cards_app
from infra.local.providers.mail import Mailbox, MailServer
from infra.local.providers.outages import Switch
from infra.local.providers.webhooks import WebhookReceiver, webhooks_app
from infra.local.servers import LOOPBACK, Servers
from infra.local.stack import Options, Stack, poll

JOB_TYPES = job_types("handlers")
SUBSCRIBERS = {"".join(map(str.title, each.subscriber.split("-"))): each for each in JOB_TYPES}
"""By what their resources' logical ids begin with."""
SCHEDULING = ("ReminderSchedules", "ReminderSchedulesRole")
NAMED = ("ShopTable", "JobsTable", "EventsTopic", "OrderedEventsTopic", "InvoiceBucket", *SCHEDULING)
A_WHILE_SECONDS = 61
A_DAY_SECONDS = 86_400
LATER_SECONDS = 901
"""Beyond what a message can be delayed."""
A_REQUEST_IS_OVER_SECONDS = 3_600
MORE_THAN_SHARDS = SHARDS + 1
"""So many events that two of them share a shard of the index."""


@dataclass
class Day:
    """A stack to live through, and what its functions have asked for."""

    stack: Stack
    clock: ManualClock
    usage: Usage
    session: Session
    receiver: Switch
    hooks_url: str
    secrets: list[str]
    events: int = 0

    def place_orders(self, count: int, subject: str = "alice") -> None:
        for _ in range(count):
            answer = self.post("/checkout", cart("ada@example.com"), subject)
            assert self.stack.call("GET", answer.headers["location"], subject=subject).status == 200

    def hear_by_webhook(self) -> None:
        """While it works; while it does not, for so long that the table takes the wait over; and again."""
        registered = self.post("/webhooks", {"url": f"{self.hooks_url}/alice"}).json
        self.secrets.append(registered["secret"])
        hook = f"/webhooks/{registered['id']}"
        for subject in ("alice", "bola"):
            self.place_orders(1, subject)
        self.run_until_idle()
        self.receiver.fail()
        for orders in (1, MORE_THAN_SHARDS):
            self.place_orders(orders)
            self.run_until_idle()
            self.clock.advance(A_REQUEST_IS_OVER_SECONDS)
            self.run_until_idle()
            assert self.stack.functions["WebhooksDueFunction"].invoke({}).error is None
        self.receiver.mend()
        assert self.post(f"{hook}/rotate", {}).status == 200
        assert self.post(f"{hook}/ping", {}).status == 202
        self.run_until_idle()
        assert self.stack.call("GET", "/webhooks").json["webhooks"][0]["state"] == "enabled"
        assert self.stack.call("DELETE", hook).status == 204

    def cancel(self) -> None:
        """Mostly too late, which is an answer, too."""
        headers = {"idempotency-key": self._next("key"), "content-type": "application/json"}
        answer = self.stack.call("POST", "/checkout", headers, json.dumps(cart("ada@example.com")))
        assert self.stack.call("DELETE", answer.headers["location"]).status == 202

    def post(self, path: str, body: Any = None, subject: str = "alice") -> HttpAnswer:
        """A request with a key of its own, of whatever outcome."""
        headers = {"idempotency-key": self._next("key"), "content-type": "application/json"}
        return self.stack.call("POST", path, headers, json.dumps(body or {}), subject=subject)

    def visit(self) -> None:
        """What customers do beside placing orders."""
        self.post("/signup", {"name": "Ada", "email": "ada@example.com"})
        self.post("/password-resets")
        self.post(f"/password-resets/{'a' * 26}-{'b' * 52}/use")
        self.post("/wallet/credits", {"amount": 100})
        self.post("/wallet/charges", {"amount": 50})
        self.post("/wallet/refunds", {"charge": self.events})
        self.post("/online")
        self.stack.call("GET", "/online")
        self.be_reminded()
        login = self.post("/login-codes", {"email": "ada@example.com"}).json["jobId"].split("-")[1]
        self.post(f"/login-codes/{login}/use", {"code": "123456"})

    def be_reminded(self) -> None:
        """Soon, later, and not after all."""
        soon, later, never = (self._remind(seconds) for seconds in (1, LATER_SECONDS, LATER_SECONDS))
        assert len({soon, later, never}) == 3
        self.stack.call("DELETE", f"/reminders/{never}")
        assert self.stack.call("GET", "/reminders").status == 200

    def _remind(self, seconds: int) -> str:
        wanted = {"email": "ada@example.com", "text": "Tea", "inSeconds": seconds}
        return str(self.post("/reminders", wanted).json["jobId"].split("-")[1])

    def roll_up(self) -> None:
        """A day later, and once more when a sale has come late."""
        sold_at = self.clock.now()
        self.clock.advance(A_DAY_SECONDS)
        assert self.stack.functions["RollupFunction"].invoke({}).error is None
        entry = {"listed": {"S": list_of(int(sold_at * 1000))}, "amount": {"N": "1"}}
        at = {"listedAt": {"N": str(int(sold_at * 1000))}}
        self.session.client("dynamodb").put_item(
            TableName=self.stack.ref("ShopTable"),
            Item={"pk": {"S": self._next("order")}, "sk": {"S": "sale"}, **entry, **at},
        )
        assert self.stack.functions["RollupFunction"].invoke({}).error is None

    def ship(self) -> None:
        headers = {"idempotency-key": self._next("key"), "content-type": "application/json"}
        answer = self.stack.call("POST", "/checkout", headers, json.dumps(cart("ada@example.com")))
        order = answer.headers["location"].removeprefix("/jobs/order-").removesuffix("-paid")
        self.post(f"/orders/{order}/ship", {"phone": "+2348012345678"})

    def run_campaign(self) -> None:
        """In two steps; stopped when they have been taken."""
        audience = Audience("alice", self._next("audience"))
        table = self.stack.ref("ShopTable")
        writes = [audiences.recipient(audience, number, "ada@example.com", "Ada") for number in range(1, 4)]
        for put in (audiences.head(audience, Size(3, 3)), *writes):
            item = {**to_attributes(put.item), **key_attributes(put.key)}
            self.session.client("dynamodb").put_item(TableName=table, Item=item)
        answer = self.post("/campaigns", {"audience": audience.name, "subject": "Spring", "text": "Come."})
        poll(self.stack.mapping_of("RelayFunction"))
        poll(self.stack.mapping_of("CampaignsFunction"))
        assert self.stack.call("GET", answer.headers["location"]).status == 200
        self.run_until_idle()
        assert self.stack.call("DELETE", answer.headers["location"]).status == 200

    def send_bad_mail(self) -> None:
        """To the queue that no topic feeds."""
        sqs = self.session.client("sqs")
        url = self.stack.ref("CampaignMailsQueue")
        sqs.send_message(QueueUrl=url, MessageBody=self._envelope("campaign.mail"))
        self.run_until_idle()

    def list_dead_jobs(self) -> None:
        for limit in (1, 20):
            cursor = ""
            while cursor is not None:
                page = self.stack.call("GET", f"/jobs?state=dead&limit={limit}{cursor}")
                assert page.status == 200
                following = json.loads(page.body).get("next")
                cursor = following and f"&cursor={following}"

    def publish_bad_payloads(self, count: int) -> None:
        for _ in range(count):
            self.session.client("sqs").send_message(
                QueueUrl=self.stack.ref("RemindersQueue"), MessageBody=self._envelope("reminder.due")
            )
        for kind in sorted({kind for each in JOB_TYPES for kind in each.on.names}):
            is_ordered = any(each.is_ordered for each in JOB_TYPES if kind in each.on.names)
            for _ in range(count):
                self._publish(kind, self._envelope(kind), is_ordered)

    def move_out_of_order(self) -> None:
        """Two movements, the second first."""
        account = self._next("account")
        data = {"accountId": account, "amount": 1, "balance": 1, "currency": "NGN"}
        for number in (3, 2, 1):
            text = self._envelope("account.credited", account, number, data)
            self._publish("account.credited", text, True)
            self.run_until_idle()

    def _publish(self, kind: str, text: str, is_ordered: bool) -> None:
        sns: Any = self.session.client("sns")
        sns.publish(
            TopicArn=self.stack.ref("OrderedEventsTopic" if is_ordered else "EventsTopic"),
            Message=text,
            MessageAttributes={"type": {"DataType": "String", "StringValue": kind}},
            **(self._in_a_group() if is_ordered else {}),
        )

    def _in_a_group(self) -> dict[str, str]:
        return {"MessageGroupId": "group", "MessageDeduplicationId": self._next("message")}

    def write_unreadable_event(self) -> None:
        item = {"pk": {"S": self._next("order")}, "sk": {"S": "entity"}, "event": {"S": "{"}}
        index = {"unpublished": {"S": "0"}, "bornAt": {"N": str(int(self.clock.now() * 1000))}}
        client = self.session.client("dynamodb")
        client.put_item(TableName=self.stack.ref("ShopTable"), Item={**item, **index})

    def wait(self) -> None:
        self.clock.advance(A_WHILE_SECONDS)

    def sweep(self) -> None:
        assert self.stack.functions["SweepFunction"].invoke({}).error is None

    def reconcile(self) -> None:
        self.clock.advance(A_REQUEST_IS_OVER_SECONDS)
        assert self.stack.functions["ReconcileFunction"].invoke({}).error is None

    def watch(self) -> None:
        assert self.stack.functions["WatchFunction"].invoke({}).error is None

    def leave_dead_letters(self, count: int) -> None:
        """As workers leave them that crash every time: nothing else tells of their jobs."""
        sqs: Any = self.stack.aws.session().client("sqs")
        for subscriber, job_type in SUBSCRIBERS.items():
            kind = min(job_type.on.names)
            for _ in range(count):
                sqs.send_message(
                    QueueUrl=self.stack.ref(f"{subscriber}DeadLetterQueue"),
                    MessageBody=self._envelope(kind),
                    **(self._in_a_group() if job_type.is_ordered else {}),
                )

    def run_until_idle(self) -> None:
        run_until_idle(self.stack, self.clock)

    def names(self, template: Template) -> dict[str, str]:
        """Logical ids by physical name."""
        queues = [name for name, _ in template.queues()]
        return {self.stack.ref(name): name for name in (*NAMED, *queues)}

    def _envelope(self, kind: str, aggregate: str = "", sequence: int = 1, data: Any = None) -> str:
        """An event of that type; without data a bad one."""
        noun, _, verb = kind.partition(".")
        aggregate = aggregate or self._next(noun)
        number = f".{sequence}" if noun == "account" else ""
        envelope = {"id": f"{aggregate}-{verb}{number}", "type": kind, "version": 1, "sequence": sequence}
        rest = {"aggregate": aggregate, "time": self._now(), "owner": "alice", "data": data or {}}
        return json.dumps({**envelope, **rest})

    def _now(self) -> str:
        return utc_text(datetime.fromtimestamp(self.clock.now(), UTC))

    def _next(self, kind: str) -> str:
        self.events += 1
        return f"{kind}-{self.events}"


@contextmanager
def day_of(template: Path) -> Iterator[Day]:
    """Run the template's stack here, on a clock moved by hand."""
    clock = ManualClock()
    aws, servers = LocalAws(clock), Servers()
    usage, works = Usage(aws), Switch(clock.now)
    port = servers.protocol(MailServer(Mailbox(), works).session)
    receiver, secrets = Switch(clock.now), list[str]()
    hooks_url = servers.http(webhooks_app(WebhookReceiver(receiver, lambda _: secrets)))
    parameters = {
        "CardsUrl": servers.http(cards_app(CardGateway(works))),
        "MailUrl": f"smtp://{LOOPBACK}:{port}",
        "MailFrom": "shop@example.com",
        "CampaignStepRecipients": "2",
    }
    options = Options(
        parameters=parameters, runner=usage.runner, overrides={"WEBHOOK_RECEIVERS": Reach.LOOPBACK_TOO}
    )
    stack = Stack.from_template(template, aws, options)
    # What they call is called by hand: their idle minutes would be half of all that is asked in the day.
    stack.schedules = ()
    try:
        yield Day(stack, clock, usage, aws.session(), receiver, hooks_url, secrets)
    finally:
        stack.close()
        servers.close()


def live_through(day: Day) -> None:
    """One of everything and several of everything: single reads and batches are different permissions."""
    for count in (1, 2):
        day.place_orders(count)
        day.run_until_idle()
        day.publish_bad_payloads(count)
        day.run_until_idle()
        day.watch()
        _be_late(day, count)
        for _ in range(count):
            day.visit()
            day.ship()
        day.run_until_idle()
    day.move_out_of_order()
    day.run_campaign()
    day.send_bad_mail()
    for count in (1, MORE_THAN_SHARDS):
        _miss_the_relay(day, count)
    day.cancel()
    day.run_until_idle()
    day.list_dead_jobs()
    day.write_unreadable_event()
    _be_late(day, 1)
    day.write_unreadable_event()
    _miss_the_relay(day, 1)
    for count in (1, 2):
        day.leave_dead_letters(count)
        day.watch()
    day.reconcile()
    day.hear_by_webhook()
    day.roll_up()


def _be_late(day: Day, orders: int) -> None:
    day.place_orders(orders)
    day.wait()
    for mapping in day.stack.mappings:
        poll(mapping)
    day.run_until_idle()


def _miss_the_relay(day: Day, orders: int) -> None:
    day.place_orders(orders)
    day.visit()
    day.wait()
    day.sweep()
    day.run_until_idle()


def used(path: Path, template: Template) -> dict[str, set[Grant]]:
    """What each function of the template at `path` asks for on such a day, by its logical id."""
    with day_of(path) as day:
        live_through(day)
        names = day.names(template)
        return {function: day.usage.of(function, names) for function, _ in template.functions()}
