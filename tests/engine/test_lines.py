"""Order: each aggregate's events strictly by number, whatever comes early, twice, late or dead."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict

from handlers.postroom import lines
from handlers.postroom.aws.queue_entry import batch_response
from handlers.postroom.consumer import Consumer
from handlers.postroom.errors import ConditionFailed, Permanent, Transient
from handlers.postroom.events import Event, EventFamily, EventType
from handlers.postroom.jobs import Commit, CommitJob, Job, commit_job
from handlers.postroom.outbox import message_group
from handlers.postroom.records import Record
from handlers.postroom.retries import Jitter, RetryPolicy
from handlers.postroom.settlement import Surroundings
from handlers.postroom.storage import Key, Put

from .conftest import NOW, World


class Moved(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True)

    amount: int


CREDITED = EventType("account.credited", 1, Moved, born_with_entity=False, repeats=True, ordered=True)
CHARGED = EventType("account.charged", 1, Moved, born_with_entity=False, repeats=True, ordered=True)
ACCOUNT: EventFamily[Moved] = EventFamily("account.*", (CREDITED, CHARGED))
POLICY = RetryPolicy(attempts=3, base_ms=1_000, jitter=Jitter.NONE)


def moved(sequence: int, account: str = "42", event_type: EventType[Moved] = CREDITED) -> Event[Moved]:
    return event_type.new(
        f"account-{account}", Moved(amount=sequence), sequence=sequence, time=NOW, owner="alice", trace=""
    )


def entry_key(event: Event[Moved]) -> Key:
    return Key("shop", event.aggregate, f"entry-{event.sequence:06d}")


@dataclass
class Statement:
    """An ordered subscriber on moto, with a queue that only remembers what is sent to it."""

    world: World
    failures: dict[int, list[Exception]] = field(default_factory=dict)
    runs: list[int] = field(default_factory=list)
    queued: list[str] = field(default_factory=list)
    refusing: bool = False
    receives: dict[str, int] = field(default_factory=dict)

    def job_type(self) -> CommitJob[Moved]:
        return commit_job("statement", on=ACCOUNT, retry=POLICY, ordered=True)(self._run)

    def _run(self, job: Job[Moved]) -> Commit:
        self.runs.append(job.event.sequence)
        if self.failures.get(job.event.sequence):
            raise self.failures[job.event.sequence].pop(0)
        return Commit([Put(entry_key(job.event), {"amount": job.data.amount})])

    def send_again(self, body: str, group: str, publication: str) -> None:
        if self.refusing:
            raise Transient("the queue is busy")
        self.queued.append(body)

    def deliver(
        self, *messages: tuple[str, Event[Moved] | str], sent_at: float = NOW.timestamp()
    ) -> list[str]:
        """Hand over one batch of (message id, event); the ids that come back."""
        records = [self._record(name, body, sent_at) for name, body in messages]
        around = Surroundings(self.world.store, self.world.time, lambda: 1.0, lambda _: None, self)
        consumer: Consumer[Moved] = Consumer(self.job_type(), around, lambda _: {})
        self.outcomes = consumer.handle(records, lambda: 30_000)
        answer = batch_response(records, self.outcomes)["batchItemFailures"]
        return [failure["itemIdentifier"] for failure in answer]

    def drain(self) -> None:
        """Deliver whatever was sent again, until nothing more is."""
        while self.queued:
            self.deliver((f"again-{len(self.runs)}-{len(self.receives)}", self.queued.pop(0)))

    def taken(self, account: str = "42") -> list[int]:
        keys = [Key("shop", f"account-{account}", f"entry-{n:06d}") for n in range(1, 20)]
        return sorted(int(item["amount"]) for item in self.world.store.read(keys).values())

    def cursor(self) -> int:
        key = lines.Line("statement", "account-42").cursor
        return int(self.world.store.read([key])[key]["sequence"])

    def state(self, sequence: int) -> Any:
        return self.world.job(moved(sequence).id, "statement").get("state")

    def _record(self, name: str, body: Event[Moved] | str, sent_at: float) -> Record:
        self.receives[name] = self.receives.get(name, 0) + 1
        text = body if isinstance(body, str) else body.to_json()
        return Record(name, f"handle-{name}", text, self.receives[name], sent_at, "p1", group="account-42")


@pytest.fixture
def statement(world: World) -> Statement:
    return Statement(world)


def batch(*sequences: int) -> Sequence[tuple[str, Event[Moved]]]:
    return [(f"m{sequence}", moved(sequence)) for sequence in sequences]


def test_events_that_come_in_order_are_taken_in_order(statement: Statement) -> None:
    assert statement.deliver(*batch(1, 2, 3)) == []

    assert (statement.runs, statement.taken(), statement.cursor()) == ([1, 2, 3], [1, 2, 3], 3)


def test_what_comes_early_is_parked_and_taken_when_its_turn_comes(statement: Statement) -> None:
    assert statement.deliver(*batch(3, 2)) == []
    assert (statement.taken(), statement.state(2), statement.state(3)) == ([], "parked", "parked")

    assert statement.deliver(*batch(1)) == []
    statement.drain()

    assert (statement.taken(), statement.cursor()) == ([1, 2, 3], 3)
    assert {statement.state(n) for n in (1, 2, 3)} == {"completed"}


def test_types_of_one_aggregate_share_its_line(statement: Statement) -> None:
    statement.deliver(
        ("a", moved(1, event_type=CHARGED)), ("b", moved(2)), ("c", moved(3, event_type=CHARGED))
    )

    assert statement.taken() == [1, 2, 3]


def test_a_repeat_is_harmless(statement: Statement) -> None:
    statement.deliver(*batch(1, 2))

    assert statement.deliver(("x1", moved(1)), ("x2", moved(2))) == []

    assert (statement.taken(), statement.runs) == ([1, 2], [1, 2])


def test_followers_of_a_retrying_head_come_back_with_it_unrun(statement: Statement) -> None:
    statement.failures[1] = [OSError("busy")]
    other = moved(1, account="99")

    failed = statement.deliver(*batch(1, 2), ("b1", other))  # FIFO-1

    assert failed == ["m1", "m2"]
    assert statement.runs == [1, 1]
    assert statement.outcomes["m2"].visibility_seconds == statement.outcomes["m1"].visibility_seconds
    assert statement.taken("99") == [1]


def test_no_follower_of_a_poison_head_dies(statement: Statement) -> None:
    statement.failures[1] = [OSError("busy")] * 2 + [Permanent("poison")]
    returned = [statement.deliver(*batch(*range(1, 11))) for _ in range(3)]

    assert returned[-1] == ["m1"]
    assert max(statement.receives[f"m{n}"] for n in range(2, 11)) <= 3
    assert statement.state(1) == "dead"
    assert {statement.state(n) for n in range(2, 11)} == {"parked"}


def test_a_redrive_of_the_dead_head_releases_all_that_waits_behind_it(statement: Statement) -> None:
    statement.failures[1] = [Permanent("mended later")]
    statement.deliver(*batch(1, 2, 3))

    assert statement.deliver(("redriven", moved(1)), sent_at=NOW.timestamp() + 60) == []
    statement.drain()

    assert (statement.taken(), statement.cursor()) == ([1, 2, 3], 3)


def test_passing_over_a_dead_head_releases_what_waits_and_can_be_repeated(statement: Statement) -> None:
    statement.failures[1] = [Permanent("never")]
    statement.deliver(*batch(1, 2, 3))
    line = lines.Line("statement", "account-42")

    assert lines.pass_over(line, 1, statement.world.store, statement) is True
    assert lines.pass_over(line, 1, statement.world.store, statement) is True
    statement.drain()

    assert (statement.taken(), statement.cursor()) == ([2, 3], 3)


def test_only_the_next_event_can_be_passed_over(statement: Statement) -> None:
    statement.deliver(*batch(1))

    with pytest.raises(ConditionFailed):
        lines.pass_over(lines.Line("statement", "account-42"), 3, statement.world.store, statement)


def test_what_was_passed_over_does_not_take_effect_later(statement: Statement) -> None:
    lines.pass_over(lines.Line("statement", "account-42"), 1, statement.world.store, statement)

    assert statement.deliver(*batch(1)) == ["m1"]

    assert (statement.taken(), statement.state(1)) == ([], "dead")


def test_a_release_that_fails_is_made_by_the_next_delivery_of_the_one_before(statement: Statement) -> None:
    statement.deliver(*batch(2))
    statement.refusing = True
    assert statement.deliver(*batch(1)) == ["m1"]
    statement.refusing = False

    assert statement.deliver(*batch(1)) == []
    statement.drain()

    assert statement.taken() == [1, 2]


def parked_then_failing(statement: Statement, error: Exception) -> None:
    """The second event comes early, is sent again when its turn has come, and fails then."""
    statement.deliver(*batch(2))
    statement.failures[2] = [error]
    statement.deliver(*batch(1))
    statement.drain()


def test_a_repeat_of_the_one_before_does_not_reopen_a_dead_event(statement: Statement) -> None:
    parked_then_failing(statement, Permanent("no such account"))
    assert statement.state(2) == "dead"

    statement.deliver(("repeat", moved(1)), sent_at=NOW.timestamp() + 60)

    assert statement.queued == []
    assert (statement.state(2), statement.runs) == ("dead", [2, 1, 2])


def test_the_place_of_an_event_is_cleared_though_it_failed_on_the_way(statement: Statement) -> None:
    parked_then_failing(statement, Transient("busy"))
    place = lines.Line("statement", "account-42").place(2)
    assert statement.world.store.read([place])

    statement.deliver(("once more", moved(2)))

    assert statement.taken() == [1, 2]
    assert statement.world.store.read([place]) == {}


def test_the_place_of_an_event_is_cleared_when_it_is_passed_over(statement: Statement) -> None:
    parked_then_failing(statement, Permanent("no such account"))
    line = lines.Line("statement", "account-42")

    lines.pass_over(line, 2, statement.world.store, statement)

    assert statement.world.store.read([line.place(2)]) == {}


def test_a_gap_is_visible_and_stops_only_its_own_line(statement: Statement) -> None:
    statement.deliver(*batch(1, 3), ("b1", moved(1, account="99")), ("b2", moved(2, account="99")))

    assert (statement.taken("42"), statement.taken("99")) == ([1], [1, 2])
    assert statement.state(3) == "parked"


def test_an_ordered_job_cannot_leave_gaps_by_design() -> None:
    with pytest.raises(ValueError, match="gaps"):
        commit_job("s", on=ACCOUNT, retry=RetryPolicy(deadline_seconds=5), ordered=True)(lambda _: Commit([]))


@pytest.mark.parametrize("aggregate", ["account-zoë@example.com", "a" * 140, "with space"])
def test_any_aggregate_has_a_valid_and_stable_message_group(aggregate: str) -> None:
    group = message_group(aggregate)  # FIFO-2

    assert group == message_group(aggregate)
    assert len(group) <= 128
    assert group.isascii()
    assert " " not in group
