"""The product's entries, wired as it wires them, with the providers and subscribers of a world."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from handlers import api_checkout
from handlers.postroom.acceptance import Acceptance
from handlers.postroom.aws.deployment import Deployment
from handlers.postroom.aws.entry import Entry
from handlers.postroom.aws.http_entry import http_entry
from handlers.postroom.aws.job_index import DynamoJobIndex
from handlers.postroom.aws.queue_entry import queue_handler
from handlers.postroom.aws.tables import DynamoStore
from handlers.postroom.aws.watch_entry import watching
from handlers.postroom.cancellation import Cancellation
from handlers.postroom.http import Respond
from handlers.postroom.job_lists import JobLists
from handlers.postroom.jobs_api import JobsApi
from handlers.postroom.status import JobStatus
from handlers.postroom.webhooks.registry import Registry
from handlers.postroom.webhooks.sending import Sender
from handlers.queue_login_codes import send_code
from handlers.queue_password_reset import send_link
from handlers.queue_statement import write_line
from handlers.queue_webhooks import deliver
from handlers.shop.checkout import checkout
from handlers.shop.login_codes import CodeMailer, Codes
from handlers.shop.password_resets import LinkMailer, Tokens
from infra.local.stubs import calling, reconcile_entry
from tests.faults.template import handler_of

if TYPE_CHECKING:
    from tests.faults.world import World

Entries = Mapping[str, Callable[["World"], Entry]]
"""By a handler's path: what takes its place in a world."""


def checkout_with(store: Callable[[Deployment], DynamoStore]) -> Callable[[World], Entry]:
    def make(world: World) -> Entry:
        def build(deployment: Deployment) -> Respond:
            now = lambda: datetime.fromtimestamp(deployment.clock(), UTC)  # noqa: E731
            return Acceptance(work=checkout(world.cards), store=store(deployment), now=now)

        return http_entry(build)

    return make


def _jobs(world: World) -> Entry:
    def build(deployment: Deployment) -> Respond:
        store = DynamoStore(deployment)
        return JobsApi(
            status=JobStatus(store, world.job_types),
            lists=JobLists(DynamoJobIndex(store), store, world.job_types),
            cancel=Cancellation(store, world.job_types, deployment.clock),
        )

    return http_entry(build)


def _mailing(subscriber: str) -> Callable[[World], Entry]:
    return lambda world: queue_handler(calling(subscriber), provider=lambda _: world.mail)


def _links(world: World) -> Entry:
    def links(deployment: Deployment) -> LinkMailer:
        tokens = Tokens(deployment.setting("LINK_SECRET"))
        return LinkMailer(world.mail, tokens, deployment.setting("RESET_URL"))

    return queue_handler(send_link, provider=links)


def _codes(world: World) -> Entry:
    def codes(deployment: Deployment) -> CodeMailer:
        return CodeMailer(world.mail, Codes(deployment.setting("CODE_SECRET")))

    return queue_handler(send_code, provider=codes)


def _deliveries(world: World) -> Entry:
    def sender(deployment: Deployment) -> Sender:
        return Sender(world.web, Registry(DynamoStore(deployment), deployment.clock), deployment.clock)

    return queue_handler(deliver, provider=sender)


def _statements(world: World) -> Entry:
    return queue_handler(replace(write_line, run=world.clerk.write))


def watch_with(store: Callable[[Deployment], DynamoStore]) -> Callable[[World], Entry]:
    return lambda world: watching(lambda: world.job_types, store)


PRODUCT: Entries = {
    f"{api_checkout.__name__}.handler": checkout_with(DynamoStore),
    "handlers.api_jobs.handler": _jobs,
    **{
        handler_of(subscriber): _mailing(subscriber)
        for subscriber in ("receipts", "welcome", "campaign-mails", "reminders")
    },
    handler_of("password-reset"): _links,
    handler_of("login-codes"): _codes,
    handler_of("statement"): _statements,
    handler_of("webhooks"): _deliveries,
    "handlers.schedule_watch.handler": watch_with(DynamoStore),
    "handlers.schedule_reconcile.handler": lambda world: reconcile_entry(world.cards),
}
