"""The local run: the stack in real time, its providers, and everything reachable over loopback."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from handlers.postroom.aws.deployment import Deployment
from handlers.postroom.aws.expressions import from_attributes
from handlers.postroom.webhooks.receivers import Reach
from handlers.postroom.webhooks.registry import REGISTRY, webhooks_in
from infra.expand import read_template
from infra.local.api_app import api_app
from infra.local.aws import LocalAws
from infra.local.aws.clock import SystemClock
from infra.local.aws.http import app as aws_app
from infra.local.deploy import STACK_NAME
from infra.local.dispatcher import Dispatcher
from infra.local.functions import FunctionSettings, Observer, Runner, process_environ, settle_subscribers
from infra.local.http_messages import HttpAnswer, HttpRequest
from infra.local.isolated import Isolated
from infra.local.nursery import Nursery
from infra.local.pages import Outside, pages
from infra.local.providers.cards import CardGateway
from infra.local.providers.cards_app import cards_app
from infra.local.providers.mail import Mailbox, MailServer
from infra.local.providers.outages import Switch
from infra.local.providers.webhooks import WebhookReceiver, webhooks_app
from infra.local.servers import LOOPBACK, Servers
from infra.local.stack import Options, RunnerFactory, Stack, in_process

ROOT = Path(__file__).resolve().parents[2]
SENDER = "shop@example.com"
API_THREADS = 8
# The longest that an HTTP API waits for a function:
# https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-quotas.html
API_CLOSING_SECONDS = 30


@dataclass(frozen=True)
class RunOptions:
    """`port` is the API's; AWS endpoint, cards, mail and webhooks take the four after it; 0 takes free ones.

    `concurrency` limits the batches of each mapping that are in work at once, below what the template allows:
    this machine has no more processors than that. `parameters` of the template replace their defaults.
    `heartbeat` holds the messages that an `isolated` function works on, as it does for those in this process.
    """

    port: int = 0
    template: Path = ROOT / "template.yaml"
    isolated: bool = False
    heartbeat: bool = False
    seed: int = 0
    concurrency: int = 2
    observers: Sequence[Observer] = ()
    changes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    parameters: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Urls:
    """Where things listen."""

    api: str
    aws: str
    cards: str
    mail: str
    webhooks: str


@dataclass
class LocalRun:
    """Everything, started with `start` and ended with `stop`."""

    options: RunOptions = field(default_factory=RunOptions)

    def __post_init__(self) -> None:
        clock = SystemClock()
        self.aws = LocalAws(clock, seed=self.options.seed)
        self.mailbox = Mailbox()
        self.switches = {name: Switch(clock.now) for name in ("mail", "cards", "sms", "webhooks")}
        sms = self.switches["sms"]
        self.aws.sns.phones.is_down = lambda: sms.is_down
        self.gateway = CardGateway(self.switches["cards"])
        self.receiver = WebhookReceiver(self.switches["webhooks"], self._webhook_secrets)
        self._servers = Servers()
        self._pool = ThreadPoolExecutor(API_THREADS, "api")
        self._stopped = threading.Event()
        self._given_runner: RunnerFactory | None = None
        self._nursery: Nursery | None = None

    def use(self, runner: RunnerFactory) -> None:
        """Run functions another way, from `start` on."""
        self._given_runner = runner

    def start(self) -> None:
        """Bring it all up. Raises `PortTakenError`, or whatever is wrong with the template."""
        settle_subscribers()
        port = self._port
        aws_url = self._servers.http(aws_app(self.aws), port(1))
        cards_url = self._servers.http(cards_app(self.gateway), port(2))
        mail = MailServer(self.mailbox, self.switches["mail"])
        mail_url = f"smtp://{LOOPBACK}:{self._servers.protocol(mail.session, port(3))}"
        webhooks_url = self._servers.http(webhooks_app(self.receiver), port(4))
        self.stack = self._stack(aws_url, cards_url, mail_url)
        outside = Outside(self.mailbox, self.receiver, self.switches)
        own_pages = pages(self.aws, outside, lambda: self._listing(aws_url))
        front = api_app(self.handle, self._pool, own_pages, self._is_page)
        self.urls = Urls(
            self._servers.http(front, port(0), API_CLOSING_SECONDS),
            aws_url,
            cards_url,
            mail_url,
            webhooks_url,
        )
        self.dispatcher = Dispatcher(self.stack, self.options.concurrency)
        self.dispatcher.start()

    def stop(self) -> None:
        """Claim nothing more; finish or give back what is in flight; end."""
        if self._stopped.is_set():
            return
        self._stopped.set()
        self.stack.stopping.set()
        self.stack.refresh()
        # From the front to the back: whatever is answered or finished still has AWS and the providers.
        self._servers.end(self.urls.api)
        self.dispatcher.stop()
        self._pool.shutdown()
        self.stack.close()
        self._servers.close()
        if self._nursery:
            self._nursery.close()

    def reload(self) -> None:
        """Take up changed code."""
        if self._nursery:
            self._nursery.renew()
        settle_subscribers()
        self.stack.refresh()

    def handle(self, request: HttpRequest) -> HttpAnswer:
        return self.stack.handle(request)

    def pids(self) -> list[int]:
        """The processes of isolated functions."""
        runners = [function.runner for function in self.stack.functions.values()]
        return [pid for runner in runners if isinstance(runner, Isolated) for pid in runner.pids]

    def _webhook_secrets(self, url: str) -> list[str]:
        """What the owner of a URL was given, so that signatures can be checked here."""
        with self.aws.region.changed:
            items = [dict(item) for item in self.aws.dynamodb.table(self.stack.ref("ShopTable")).items]
        registries = (from_attributes(item) for item in items if item["sk"]["S"] == REGISTRY)
        hooks = (hook for registry in registries for hook in webhooks_in(registry) if hook.url == url)
        return [secret.value for hook in hooks for secret in hook.secrets]

    def _listing(self, aws_url: str) -> Mapping[str, Any]:
        """What CloudFormation would tell of the stack, and where its AWS is."""
        return {
            "name": STACK_NAME,
            "region": self.aws.region.name,
            "aws": aws_url,
            "resources": self.stack.deployed.listing(),
        }

    def _is_page(self, method: str, path: str) -> bool:
        # What the template routes is the API's, whatever we would show there.
        return self.stack.api is None or not self.stack.api.has_route(method, path)

    def _port(self, offset: int) -> int:
        return self.options.port + offset if self.options.port else 0

    def _stack(self, aws_url: str, cards_url: str, mail_url: str) -> Stack:
        ours = {"CardsUrl": cards_url, "MailUrl": mail_url, "MailFrom": SENDER}
        declared = read_template(self.options.template).get("Parameters", {})
        options = Options(
            changes=self.options.changes,
            shortcut=True,
            # An isolated function is killed when its time is over, as on Lambda.
            heartbeat=self.options.heartbeat or not self.options.isolated,
            parameters={
                **{name: value for name, value in ours.items() if name in declared},
                **self.options.parameters,
            },
            overrides={"WEBHOOK_RECEIVERS": Reach.LOOPBACK_TOO},
            observers=self.options.observers,
            runner=self._given_runner or self._runner(aws_url),
            seed=self.options.seed,
        )
        return Stack.from_template(self.options.template, self.aws, options)

    def _runner(self, aws_url: str) -> RunnerFactory:
        if not self.options.isolated:
            return in_process
        self._nursery = nursery = Nursery({**os.environ, "PYTHONPATH": str(ROOT)})

        def isolated(settings: FunctionSettings, _surroundings: Callable[[], Deployment]) -> Runner:
            environ = {**process_environ(settings, self.aws.region.name), **endpoint(aws_url)}
            return Isolated(settings.handler, environ, self.options.concurrency, nursery)

        return isolated


def endpoint(aws_url: str) -> dict[str, str]:
    """What another process needs to take what listens there for AWS."""
    return {
        "AWS_ENDPOINT_URL": aws_url,
        "AWS_ACCESS_KEY_ID": "local",
        "AWS_SECRET_ACCESS_KEY": "local",
        "AWS_EC2_METADATA_DISABLED": "true",
    }
