"""Bugs of lines, steps, clocks and webhooks, each in one place."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from handlers.postroom.aws.deployment import Deployment
from handlers.postroom.aws.due_index import DynamoDueIndex
from handlers.postroom.aws.entry import Entry, LambdaContext, LambdaHandler
from handlers.postroom.aws.listed_index import DynamoLists
from handlers.postroom.aws.tables import DynamoStore
from handlers.postroom.aws.topic import SnsTopic
from handlers.postroom.aws.webhooks_entry import outcomes_handler
from handlers.postroom.events import Event
from handlers.postroom.jobs import Call, Job
from handlers.postroom.later import DuePublisher
from handlers.postroom.storage import Item, Key, Put, Update, Write
from handlers.postroom.webhooks.messages import DeliveryDue
from handlers.postroom.webhooks.registry import Registry
from handlers.postroom.webhooks.sending import Sender
from handlers.providers import bulk_lane_sqs
from handlers.providers.bulk_lane_sqs import SqsBulkLane
from handlers.queue_campaigns import enqueue_step
from handlers.queue_login_codes import send_code
from handlers.queue_reminders import send_reminder
from handlers.queue_statement import write_line
from handlers.queue_webhooks import deliver
from handlers.shop.login_codes import CodeMailer, Codes
from handlers.shop.ports import Mailer
from handlers.shop.reminders import Reminder, ReminderDue
from handlers.shop.rollup import RollUp, day_key
from tests.faults.planted_consumers import Rewired
from tests.faults.world import World


class DropsWhatIsEarly(DynamoStore):
    """Acknowledges an early event, and keeps it nowhere."""

    def transact(self, writes: Sequence[Write]) -> None:
        if not any(write.key.sk.startswith("parked-") for write in writes):
            super().transact(writes)


class SkipsGaps(DynamoStore):
    """Takes the next event for whichever comes next."""

    def transact(self, writes: Sequence[Write]) -> None:
        super().transact([_anywhere(write) for write in writes])


def _anywhere(write: Write) -> Write:
    return replace(write, condition=None) if isinstance(write, Update) and write.key.sk == "cursor" else write


class ForgetsWhoWaits(DynamoStore):
    """Never looks for a parked successor."""

    def read(self, keys: Any) -> dict[Key, Item]:
        return {key: item for key, item in super().read(keys).items() if not key.sk.startswith("parked-")}


def writing(store: type[DynamoStore]) -> Callable[[World], Entry]:
    return lambda world: Rewired(replace(write_line, run=world.clerk.write), store=store)(world)


@dataclass(frozen=True)
class LateLane:
    """Says that it has taken the messages, and sends them when the step's progress is written."""

    inner: SqsBulkLane
    waiting: list[Event[Any]] = field(default_factory=list)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def send(self, events: Sequence[Event[Any]]) -> None:
        self.waiting.extend(events)

    def flush(self) -> None:
        self.inner.send(list(self.waiting))
        self.waiting.clear()


def advancing_first(world: World) -> Entry:
    def build(deployment: Deployment) -> LambdaHandler:
        lane = LateLane(bulk_lane_sqs.from_deployment(deployment))
        handler = Rewired(enqueue_step, provider=lambda *_: lane)(world).on(deployment)

        def handle(event: Any, context: LambdaContext) -> Any:
            answer = handler(event, context)
            lane.flush()
            return answer

        return handle

    return Entry(build)


def _ring_anew(job: Job[ReminderDue]) -> Call[Mailer]:
    reminder = Reminder.from_item(job.require("reminder"))
    return Call(lambda mailer: {"id": mailer.send(reminder.mail, key=f"{job.idempotency_key}-{job.attempt}")})


def _ring_always(job: Job[ReminderDue]) -> Call[Mailer]:
    reminder = Reminder.from_item(job.require("reminder"))
    return Call(lambda mailer: {"id": mailer.send(reminder.mail, key=job.idempotency_key)})


def _mail(world: World, _deployment: Deployment) -> Any:
    return world.mail


RINGING_ANEW = Rewired(replace(send_reminder, run=_ring_anew), provider=_mail)
RINGING_ALWAYS = Rewired(replace(send_reminder, run=_ring_always), provider=_mail)


def _codes(world: World, deployment: Deployment) -> CodeMailer:
    return CodeMailer(world.mail, Codes(deployment.setting("CODE_SECRET")))


PATIENT_CODES = Rewired(
    replace(send_code, retry=replace(send_code.retry, deadline_seconds=None)), provider=_codes
)


class Yesterday(RollUp):
    """Rolls up the date before the tick's, whichever came before that."""

    def run(self, now: float, remaining_ms: Callable[[], int]) -> Mapping[str, list[str]]:
        day = datetime.fromtimestamp(now, UTC).astimezone(self.zone).date() - timedelta(days=1)
        self._finish(day, int(now * 1000), is_new=True)
        return {}


class Anew(RollUp):
    """Writes the date of every tick as if it were the first time."""

    def _finish(self, day: Any, now_ms: int, *, is_new: bool) -> str:
        totals = self._totals(*self.bounds_ms(day)).attributes
        if is_new or self.store.read([day_key(day)]):
            self.store.write(Put(day_key(day), {**totals, "rolledUpAt": now_ms}, condition=None))
        return ""


def rolling_up(kind: type[RollUp]) -> Callable[[World], Entry]:
    def build(deployment: Deployment) -> LambdaHandler:
        store, zone = DynamoStore(deployment), ZoneInfo(deployment.setting("ROLLUP_TIME_ZONE"))
        roll_up = kind(store, DynamoLists(store), zone)
        return lambda _event, context: roll_up.run(deployment.clock(), context.get_remaining_time_in_millis)

    return lambda _world: Entry(build)


class NewIds(Sender):
    """Names the attempt, not the message."""

    def send(self, job: Job[DeliveryDue]) -> Any:
        named = replace(job.event, aggregate=f"{job.event.aggregate}-{job.attempt}")
        return super().send(replace(job, event=named))


def _naming(world: World, deployment: Deployment) -> Sender:
    return NewIds(world.web, Registry(DynamoStore(deployment), deployment.clock), deployment.clock)


NAMING_ATTEMPTS = Rewired(deliver, provider=_naming)


class ClearsFirst(DuePublisher):
    def _publish(self, items: dict[Key, Item]) -> int:
        for key, item in items.items():
            self._clear(key, item)
        return super()._publish(items)


def clearing_first(_world: World) -> Entry:
    def build(deployment: Deployment) -> LambdaHandler:
        store = DynamoStore(deployment)
        due = ClearsFirst(SnsTopic(deployment), store, DynamoDueIndex(store), deployment.new_id)
        return lambda _event, context: due.run(deployment.clock(), context.get_remaining_time_in_millis)

    return Entry(build)


def never_rewinding(_world: World) -> Entry:
    def build(deployment: Deployment) -> LambdaHandler:
        handler = outcomes_handler().on(deployment)

        def handle(event: Any, context: LambdaContext) -> Any:
            handler(event, context)
            return {"batchItemFailures": []}

        return handle

    return Entry(build)
