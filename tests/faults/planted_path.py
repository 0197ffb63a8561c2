"""Relays, a checkout, a status page and a watch with a bug in one place."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from handlers.postroom.aws.deployment import Deployment
from handlers.postroom.aws.entry import Entry, LambdaContext, LambdaHandler
from handlers.postroom.aws.http_entry import http_entry
from handlers.postroom.aws.stream_entry import stream_record
from handlers.postroom.aws.tables import DynamoStore
from handlers.postroom.aws.topic import SnsTopic
from handlers.postroom.http import Answer, Request
from handlers.postroom.problems import Problem
from handlers.postroom.relay import Entry as Published
from handlers.postroom.relay import OutboxRow, Rejection, Relay, relay_stream
from handlers.postroom.status import JobStatus
from handlers.postroom.sweep import Sweep
from infra.local.stubs import StubCards
from tests.faults.planted_stores import Overruling
from tests.faults.product import checkout_with, watch_with
from tests.faults.world import Setting, World


class DeafTopic(SnsTopic):
    def publish(self, entries: Sequence[Published]) -> Sequence[Rejection]:
        super().publish(entries)
        return []


class MarksFirst(Relay):
    def publish(self, rows: Sequence[OutboxRow]) -> int | None:
        self._mark([row.key for row in rows])
        return super().publish(rows)


def relay(
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
        return lambda _event, _context: {"swept": Sweep(relay).run(deployment.clock()).rows}

    return Entry(build)


def republishing(setting: Setting) -> Setting:
    """Neither the mapping's filter nor the relay keeps to inserts."""

    def unfiltered(template: Mapping[str, Any]) -> Mapping[str, Any]:
        resources = {name: _without_filter(body) for name, body in template["Resources"].items()}
        return {**template, "Resources": resources}

    relayed = {
        **setting.entries,
        "handlers.stream_relay.handler": relay(events=frozenset({"INSERT", "MODIFY"})),
    }
    return replace(setting, entries=relayed, change_template=unfiltered)


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


def overruling_watch(world: World) -> Entry:
    return watch_with(Overruling)(world)
