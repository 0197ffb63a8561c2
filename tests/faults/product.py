"""The product's entries, wired as it wires them, with the providers and subscribers of a world."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from handlers import api_checkout, queue_receipts
from handlers.postroom.acceptance import Acceptance
from handlers.postroom.aws.dead_letters import SqsDeadLetters
from handlers.postroom.aws.deployment import Deployment
from handlers.postroom.aws.entry import Entry, LambdaHandler
from handlers.postroom.aws.http_entry import http_entry
from handlers.postroom.aws.job_index import DynamoJobIndex
from handlers.postroom.aws.queue_entry import queue_handler
from handlers.postroom.aws.tables import DynamoStore
from handlers.postroom.cancellation import Cancellation
from handlers.postroom.http import Respond
from handlers.postroom.job_lists import JobLists
from handlers.postroom.jobs_api import JobsApi
from handlers.postroom.status import JobStatus
from handlers.postroom.watch import Watch
from handlers.shop.checkout import checkout
from infra.local.stubs import reconcile_entry

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


def _receipts(world: World) -> Entry:
    return queue_handler(queue_receipts.send_receipt, provider=lambda _: world.mail)


def watch_with(store: Callable[[Deployment], DynamoStore]) -> Callable[[World], Entry]:
    def make(world: World) -> Entry:
        def build(deployment: Deployment) -> LambdaHandler:
            watch = Watch(store(deployment), deployment.clock)
            queues = [(each, SqsDeadLetters(deployment, each.subscriber)) for each in world.job_types]
            return lambda _event, context: watch.run(queues, context.get_remaining_time_in_millis)

        return Entry(build)

    return make


PRODUCT: Entries = {
    f"{api_checkout.__name__}.handler": checkout_with(DynamoStore),
    "handlers.api_jobs.handler": _jobs,
    f"{queue_receipts.__name__}.handler": _receipts,
    "handlers.schedule_watch.handler": watch_with(DynamoStore),
    "handlers.schedule_reconcile.handler": lambda world: reconcile_entry(world.cards),
}
