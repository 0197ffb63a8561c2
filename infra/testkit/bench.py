"""One subscriber on a bench: two tables, its queue with dead letters, and its function."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from handlers.postroom.aws.deployment import Deployment
from handlers.postroom.aws.entry import Entry
from handlers.postroom.aws.expressions import from_attributes, request_of
from handlers.postroom.events import Event
from handlers.postroom.storage import Item, Put
from infra.local.aws.direct import Direct
from infra.local.functions import Function, FunctionSettings, InProcess, Invocation
from infra.local.queue_mapping import QueueMapping, QueueMappingSettings
from infra.local.sources import ModelQueue
from infra.testkit.gate import Plan
from infra.testkit.provider import Said, Watched
from infra.testkit.rig import Mortal, Rig

FUNCTION = "function"
TIMEOUT_SECONDS = 30.0
VISIBILITY_SECONDS = 180
MOST_RECEIVES = 60
WEEK_SECONDS = 7 * 86_400.0
TABLES = {"shop": "Shop", "jobs": "Jobs"}
_KEYS = {"pk": "HASH", "sk": "RANGE"}


@dataclass(frozen=True)
class Effects:
    """What a run has left behind: items that were not given, files, and what the provider was asked for."""

    items: Mapping[tuple[str, str], Item]
    files: Mapping[str, bytes]
    asked: frozenset[str]


class Bench:
    """`entry` is what a subscriber's module calls `handler`; `environ` is what its template block sets.

    A bucket is made for each variable that ends in `_BUCKET`.
    """

    def __init__(
        self, entry: Entry, environ: Mapping[str, str], given: Sequence[Put], plan: Plan | None = None
    ) -> None:
        self.rig = Rig(plan)
        self.given = given
        self.failures: list[Invocation] = []
        self._direct = Direct(self.rig.aws)
        self.queue = self._queue("Work", self._queue("DeadLetters").arn)
        self.dead_letters = self.rig.aws.sqs.queue("DeadLetters")
        self._make_tables(environ)
        self._mapping = self._made_mapping(entry, {**self._own_environ(), **environ})

    def deliver(self, event: Event[Any], times: int) -> None:
        """Send so many messages of one publication, and let time pass until none is left."""
        names = {"type": event.type, "publication": "publication-1"}
        attributes = {name: {"DataType": "String", "StringValue": value} for name, value in names.items()}
        for _ in range(times):
            self._direct.client("sqs").send_message(
                QueueUrl=self.queue.url, MessageBody=event.to_json(), MessageAttributes=attributes
            )
        self.rig.drain([self._mapping], self.rig.clock.now() + WEEK_SECONDS)

    def effects(self, provider: Watched | None) -> Effects:
        before = {(put.key.pk, put.key.sk) for put in self.given}
        shop = {key: _authors(item) for key, item in self._items("shop") if key not in before}
        buckets = self.rig.aws.s3.buckets.items()
        files = {f"{name}/{key}": file.body for name, held in buckets for key, file in held.items()}
        return Effects(shop, files, frozenset(map(_told, provider.heard if provider else ())))

    def job(self, event_id: str, subscriber: str) -> Item:
        """The job's row; empty when there is none."""
        return dict(self._items("jobs")).get((event_id, subscriber), {})

    def _items(self, table: str) -> Iterator[tuple[tuple[str, str], Item]]:
        for attributes in self.rig.aws.dynamodb.table(TABLES[table]).items:
            item = from_attributes(attributes)
            yield (item["pk"], item["sk"]), item

    def _queue(self, name: str, dead_letters: str = "") -> Any:
        attributes = {"VisibilityTimeout": str(VISIBILITY_SECONDS)}
        if dead_letters:
            policy = f'{{"deadLetterTargetArn": "{dead_letters}", "maxReceiveCount": {MOST_RECEIVES}}}'
            attributes["RedrivePolicy"] = policy
        self._direct.client("sqs").create_queue(QueueName=name, Attributes=attributes)
        return self.rig.aws.sqs.queue(name)

    def _make_tables(self, environ: Mapping[str, str]) -> None:
        for name in TABLES.values():
            self._direct.client("dynamodb").create_table(
                TableName=name,
                KeySchema=[{"AttributeName": key, "KeyType": kind} for key, kind in _KEYS.items()],
                AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S"} for key in _KEYS],
            )
        for put in self.given:
            _, request = request_of(put, TABLES[put.key.table])
            self._direct.client("dynamodb").put_item(**request)
        for bucket in (value for name, value in environ.items() if name.endswith("_BUCKET")):
            self._direct.client("s3").create_bucket(Bucket=bucket)

    def _own_environ(self) -> Mapping[str, str]:
        tables = {f"{logical.upper()}_TABLE": name for logical, name in TABLES.items()}
        return {**tables, "QUEUE_URL": self.queue.url}

    def _made_mapping(self, entry: Entry, environ: Mapping[str, str]) -> QueueMapping:
        settings = FunctionSettings(FUNCTION, "arn", "", environ, TIMEOUT_SECONDS)
        clock, stopping = self.rig.clock, threading.Event()
        deployment = Deployment(
            environ, self.rig.session, clock=clock.now, chance=lambda: 0.5, sleep=clock.advance
        )
        runner = Mortal(FUNCTION, InProcess("", lambda: deployment, entry), self.rig.gate)
        function = Function(settings, runner, clock.now, self._observe, stopping)
        queue = ModelQueue(self.rig.aws.region, self.queue)
        reports = QueueMappingSettings(reports_failures=True)
        return QueueMapping(FUNCTION, queue, function, reports, self.rig.aws.region.name, stopping)

    def _observe(self, invocation: Invocation) -> None:
        if invocation.error is not None:
            self.failures.append(invocation)


def _authors(item: Item) -> Item:
    """Without what the engine adds to an item that is its own marker."""
    return {name: value for name, value in item.items() if name != "job"}


def _told(said: Said) -> str:
    named = (f"{name}={value!r}" for name, value in said.kwargs.items())
    return f"{said.method}({', '.join([*map(repr, said.args), *named])})"
