"""One run of a scenario: the template's functions on the model, their providers, their clients, one fault."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from handlers.postroom import strict_json
from handlers.postroom.aws.expressions import from_attributes
from handlers.postroom.discovery import job_types
from handlers.postroom.jobs import JobType
from handlers.postroom.storage import Item
from infra.local.aws.direct import Direct
from infra.local.aws.sqs.message import Message
from infra.local.aws.sqs.queue import Queue
from infra.local.functions import Invocation
from infra.local.providers.cards import CardGateway
from infra.local.providers.outages import Switch
from infra.local.stack import Options, Stack
from infra.local.stubs import StubCards
from infra.testkit.gate import Plan, Spot
from infra.testkit.provider import Watched
from infra.testkit.rig import Rig
from tests.faults.client import Clients
from tests.faults.evidence import Change, Promised
from tests.faults.kinds import KINDS, FrontDesk, kind_entry
from tests.faults.logs import collected
from tests.faults.product import PRODUCT, Entries
from tests.faults.providers import Clerk, Mailroom, Receiver
from tests.faults.template import SHOP, handler_of, logical, parameters, template_for

DAY_SECONDS = 86_400.0
AGES = (61.0, 13 * 3600.0)
"""Steps in time after which the schedules are tried: old enough for the sweep, then for all the rest."""
MOST_ROUNDS = 12

JOB_TYPES: Mapping[str, JobType[Any]] = {each.subscriber: each for each in (*job_types("handlers"), *KINDS)}
SCHEDULES = frozenset(
    {"SweepFunction", "WatchFunction", "ReconcileFunction", "WebhooksDueFunction", "RollupFunction"}
)
MINUTELY = SCHEDULES - {"WebhooksDueFunction", "RollupFunction"}
STEP_RECIPIENTS = 4
"""Of a campaign: so that six make two steps."""

OnArrival = Callable[["World", Queue, Message], None]


class NotAtRestError(AssertionError):
    """Work that schedules find again and again."""


@dataclass(frozen=True)
class Setting:
    """What a world is made of. `entries` replace the product's; `schedules` are those that run."""

    subscribers: tuple[str, ...]
    entries: Entries = field(default_factory=dict)
    schedules: frozenset[str] = MINUTELY
    change_template: Callable[[Mapping[str, Any]], Mapping[str, Any]] = lambda template: template


class World:
    """Make it with `world`."""

    def __init__(self, setting: Setting, plan: Plan | None, lines: list[str], seed: int = 0) -> None:
        self.setting = setting
        self.plan = plan
        self.lines = lines
        self.rig = Rig(plan, seed)
        self.clock = self.rig.clock
        self.mailroom, self.gateway = Mailroom(self.clock.now), CardGateway(Switch(self.clock.now))
        self.front, self.clerk, self.receiver = FrontDesk(), Clerk(), Receiver(self.clock.now)
        self.mail: Watched = self._watched("mail", self.mailroom)
        self.cards: Watched = self._watched("cards", StubCards(self.gateway))
        self.desk: Watched = self._watched("desk", self.front)
        self.web: Watched = self._watched("receiver", self.receiver)
        self.on_arrival: OnArrival | None = None
        self.redriven: set[str] = set()
        self.act: Callable[..., bool] = lambda *_: True
        self.disturbed = False
        self.relays = True
        self.delivered: list[tuple[str, str]] = []
        self.failures: list[Invocation] = []
        self.changes: list[Change] = []
        self.stack = self._stack(seed)
        self.clients = Clients(self.stack, self.clock, self.pass_time)
        self._read = 0
        self._arrived: set[int] = set()
        self._idle: list[int] = []

    @property
    def job_types(self) -> Sequence[JobType[Any]]:
        return [JOB_TYPES[each] for each in self.setting.subscribers]

    # -- driving

    def pass_time(self, seconds: float) -> None:
        """So many seconds, in which the queues are worked."""
        end = self.clock.now() + seconds
        self.rig.drain(self._pollables, end)
        self.clock.advance(max(0.0, end - self.clock.now()))

    def quiet(self) -> None:
        """Let time pass, and the schedules run, until nothing changes any more."""
        ages = iter(AGES)
        age = next(ages)
        for _ in range(MOST_ROUNDS):
            self.drain()
            before = self.fingerprint(), self.rig.gate.struck
            # or every look into a dead-letter queue would leave more letters in it
            self.rig.aws.switches.duplicate_delivery = 0.0
            self.clock.advance(age)
            calls_before = len(self.rig.gate.calls)
            all_went_well = self.run_schedules()
            self.drain()
            if all_went_well and (self.fingerprint(), self.rig.gate.struck) == before:
                self._idle += range(calls_before, len(self.rig.gate.calls))
                following = next(ages, None)
                if following is None:
                    return
                age = following
        raise NotAtRestError("the schedules find something to do for ever")

    def drain(self) -> None:
        self.rig.drain(self._pollables, self.clock.now() + 60 * DAY_SECONDS)

    def run_schedules(self) -> bool:
        """Whether none of them failed."""
        names = [schedule.function.name for schedule in self.stack.schedules]
        runs = [self.run_schedule(name) for name in names if name in self.setting.schedules]
        return all(run.error is None for run in runs)

    def run_schedule(self, function: str) -> Invocation:
        return self.stack.functions[function].invoke({"source": "aws.scheduler"})

    def fingerprint(self) -> object:
        """What there is, apart from how often somebody looked at it."""
        letters = {
            name: sorted(each.id for each in self.messages(queue))
            for name, queue in self.rig.aws.sqs.queues.items()
        }
        charges = [(charge.id, charge.status) for charge in self.gateway.charges]
        return self.shop_items, self.job_rows, letters, charges

    def redrive(self, subscriber: str) -> None:
        """As any operator would: with SQS's own move task, back to the source queue."""
        source = self.dead_letters(subscriber)
        self.redriven.add(subscriber)
        Direct(self.rig.aws).client("sqs").start_message_move_task(SourceArn=source.arn)

    # -- evidence

    @property
    def calls(self) -> list[Spot]:
        """What was called, without what schedules ask while there is nothing to do."""
        idle = set(self._idle)
        return [spot for number, spot in enumerate(self.rig.gate.calls) if number not in idle]

    @property
    def shop_items(self) -> list[Item]:
        return self._items("ShopTable")

    @property
    def job_rows(self) -> dict[tuple[str, str], Item]:
        """By event id and subscriber."""
        return {(row["pk"], row["sk"]): row for row in self._items("JobsTable")}

    @property
    def events(self) -> list[Promised]:
        """Every event that an item of the Shop table promises to tell."""
        items = [item for item in self.shop_items if str(item.get("event", "")).startswith("{")]
        return [Promised(strict_json.loads(item["event"]), item["bornAt"] / 1000) for item in items]

    @property
    def promised(self) -> list[tuple[Promised, JobType[Any]]]:
        """Every job that somebody may count on."""
        return [(each, kind) for each in self.events for kind in self.job_types if each.type in kind.on.names]

    @property
    def orders(self) -> list[Item]:
        return [item for item in self.shop_items if item["sk"] == "entity" and "lines" in item]

    @property
    def files(self) -> dict[str, bytes]:
        buckets = self.rig.aws.s3.buckets.values()
        return {name: stored.body for bucket in buckets for name, stored in bucket.items()}

    def messages(self, queue: Queue) -> list[Message]:
        with self.rig.aws.region.changed:
            return queue.messages

    def queue(self, subscriber: str) -> Queue:
        return self.rig.aws.sqs.queue(self.stack.ref(f"{logical(subscriber)}Queue"))

    def dead_letters(self, subscriber: str) -> Queue:
        return self.rig.aws.sqs.queue(self.stack.ref(f"{logical(subscriber)}DeadLetterQueue"))

    def _items(self, table: str) -> list[Item]:
        return [from_attributes(item) for item in self.rig.aws.dynamodb.table(self.stack.ref(table)).items]

    # -- making

    def _watched(self, name: str, target: Any) -> Watched:
        return Watched(name, target, self.rig.gate, self.clock)

    def _stack(self, seed: int) -> Stack:
        entries = {path: make(self) for path, make in {**PRODUCT, **self.setting.entries}.items()}
        entries |= {
            handler_of(each.subscriber): kind_entry(each, self.desk)
            for each in self.job_types
            if each.subscriber not in SHOP and handler_of(each.subscriber) not in entries
        }
        options = Options(
            runner=self.rig.runner(entries),
            overrides={"STEP_RECIPIENTS": str(STEP_RECIPIENTS)},
            observers=[self._observe],
            seed=seed,
        )
        template = self.setting.change_template(template_for(self.setting.subscribers))
        return Stack(template, parameters(), self.rig.aws, options)

    def _observe(self, invocation: Invocation) -> None:
        for record in invocation.event.get("Records", ()):
            if "body" in record:
                publication = record["messageAttributes"].get("publication", {}).get("stringValue", "")
                self.delivered.append((record["body"], publication))
        if invocation.error is not None:
            self.failures.append(invocation)
        self._note_changes()

    def _note_changes(self) -> None:
        """Streams forget after a day, and stories are longer."""
        table = self.rig.aws.dynamodb.table(self.stack.ref("ShopTable"))
        assert table.stream is not None
        for record in table.stream.read(self._read, table.stream.end):
            self.changes.append(Change.of(record))
        self._read = table.stream.end

    @property
    def _pollables(self) -> list[Any]:
        mappings = [
            mapping
            for mapping in self.stack.mappings
            if self.relays or mapping.function.name != "RelayFunction"
        ]
        return [each for mapping in mappings for each in (_Arrivals(self), mapping)]

    def meet_arrivals(self) -> None:
        """Tell `on_arrival` of each message that has come to a subscriber's queue since."""
        if self.on_arrival is None:
            return
        for subscriber in self.setting.subscribers:
            queue = self.queue(subscriber)
            for message in self._newly_in(queue):
                before = {id(each) for each in self.messages(queue)}
                self.on_arrival(self, queue, message)
                self._arrived |= {id(each) for each in self.messages(queue)} - before

    def _newly_in(self, queue: Queue) -> list[Message]:
        found = [each for each in self.messages(queue) if id(each) not in self._arrived]
        self._arrived |= {id(each) for each in found}
        return found


@dataclass(frozen=True)
class _Arrivals:
    """Looks at the queues before anybody works them."""

    world: World

    def claim(self) -> None:
        self.world.meet_arrivals()

    def next_due(self) -> None:
        return None


@contextmanager
def world(setting: Setting, plan: Plan | None = None, seed: int = 0) -> Iterator[World]:
    with collected() as lines:
        yield World(setting, plan, lines, seed)
