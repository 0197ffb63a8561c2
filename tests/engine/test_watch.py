"""Jobs whose worker never reported: closed from their dead letters, never against a result."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from handlers.postroom import job_rows
from handlers.postroom.aws.dead_letters import SqsDeadLetters
from handlers.postroom.aws.queue_entry import queue_handler
from handlers.postroom.deliveries import Delivery
from handlers.postroom.errors import Transient
from handlers.postroom.jobs import RETENTION_SECONDS, Commit, CommitJob, Job, commit_job
from handlers.postroom.records import Record
from handlers.postroom.retries import LONGEST_VISIBILITY_SECONDS, RetryPolicy
from handlers.postroom.storage import Key, Put
from handlers.postroom.watch import READ_AGAIN_SECONDS, Watch

from .conftest import THING_DONE, Invocation, ThingDone, World, sqs_record, thing

HANDED_OUT = 20


def plenty() -> int:
    return 50_000


@commit_job("points", on=THING_DONE, retry=RetryPolicy(attempts=4, base_ms=1_000))
def credit(job: Job[ThingDone]) -> Commit:
    return Commit([Put(Key("shop", job.data.customer, f"points-{job.event.id}"), {"points": 204})])


@commit_job("pick", on=THING_DONE, marker=lambda event_id: Key("shop", event_id, "pick"))
def pick(job: Job[ThingDone]) -> Commit:
    return Commit([Put(Key("shop", job.event.id, "pick"), {})])


def letter(body: Any = None, *, message_id: str = "m1", publication: str = "p1") -> Record:
    """As it is read from a dead-letter queue, which is one more receive."""
    raw = sqs_record(
        thing() if body is None else body,
        message_id=message_id,
        receive_count=HANDED_OUT + 1,
        publication=publication,
    )
    return Record.from_lambda(raw)


@dataclass
class ScriptedLetters:
    """A dead-letter queue that hands out what lies in it, ten at a time."""

    letters: list[Record] = field(default_factory=list)
    is_moving: bool = False
    failure: Exception | None = None
    held: list[Record] = field(default_factory=list)
    released: list[Record] = field(default_factory=list)
    receives: int = 0

    def depth(self) -> int:
        if self.failure:
            raise self.failure
        return len(self.letters) - len(self.held)

    def is_being_moved(self) -> bool:
        return self.is_moving

    def receive(self, *, wait: bool) -> Sequence[Record]:
        self.receives += 1
        batch = [each for each in self.letters if each not in self.held][:10]
        self.held += batch
        return batch

    def release(self, records: Sequence[Record]) -> None:
        self.released += records
        self.held = [each for each in self.held if each not in records]


@pytest.fixture
def watch(world: World) -> Watch:
    return Watch(world.store, world.time)


def run(watch: Watch, *letters: Record, job_type: CommitJob[ThingDone] = credit) -> dict[str, int]:
    return dict(watch.run([(job_type, ScriptedLetters(list(letters)))], plenty))


def fail_once(world: World, *, dead: bool = False, message_id: str = "m1", publication: str = "p1") -> None:
    record = Record.from_lambda(sqs_record(thing(), message_id=message_id, publication=publication))
    failed = job_rows.failed(
        Delivery(credit, record, thing()), Transient("away"), dead=dead, now=world.time.now
    )
    world.store.write(failed)


def deliver(world: World, **record: Any) -> list[Any]:
    handler = queue_handler(credit).on(world.deployment)
    failures: list[Any] = handler({"Records": [sqs_record(thing(), **record)]}, Invocation())[
        "batchItemFailures"
    ]
    return failures


def points(world: World) -> int:
    key = Key("shop", "c1001", "points-thing-1001-done")
    return int(world.store.read([key]).get(key, {}).get("points", 0))


def test_a_job_of_which_nothing_is_recorded_is_closed_as_dead_with_the_reason(
    world: World, watch: Watch
) -> None:
    assert run(watch, letter()) == {"closed": 1}

    row = world.job()
    [entry] = row["failures"]
    assert (row["state"], row["open"], row["ownedOpen"]) == ("dead", "dead", "dead#alice")
    assert (row["messageId"], row["publication"], row["owner"]) == ("m1", "p1", "alice")
    assert (row["attempts"], entry["attempt"]) == (HANDED_OUT, HANDED_OUT)
    assert row["endedAt"] == entry["at"] == int(world.time.now * 1000)
    assert entry["error"] == "NeverReported"
    assert "20 times" in entry["message"]
    assert "crashed, ran out of time or memory" in entry["message"]


def test_an_open_job_is_closed_and_keeps_its_ledger(world: World, watch: Watch) -> None:
    fail_once(world)

    assert run(watch, letter()) == {"closed": 1}

    row = world.job()
    assert row["state"] == "dead"
    assert [entry["error"] for entry in row["failures"]] == ["Transient", "NeverReported"]
    assert row["attempts"] == HANDED_OUT


def test_what_it_closes_a_redrive_reopens_and_the_effect_is_there_once(world: World, watch: Watch) -> None:
    run(watch, letter())
    world.time.now += 60

    again = [deliver(world, message_id=name, sent_at=world.time.now) for name in ("m2", "m2", "m3")]

    assert again == [[], [], []]
    assert world.job()["state"] == "completed"
    assert world.job()["generation"] == 1
    assert points(world) == 204


def test_a_repeat_from_the_relay_does_not_reopen_what_it_closed(world: World, watch: Watch) -> None:
    run(watch, letter())
    world.time.now += 60

    assert deliver(world, message_id="m2", publication="p2", sent_at=world.time.now) == []

    assert world.job()["state"] == "dead"
    assert points(world) == 0


@pytest.mark.parametrize("state", ["completed", "dead", "cancelled", "expired"])
def test_an_outcome_is_never_overruled(world: World, watch: Watch, state: str) -> None:
    world.store.write(Put(Key("jobs", thing().id, "points"), {"state": state, "messageId": "m1"}))

    assert run(watch, letter()) == {"settled": 1}

    assert world.job()["state"] == state
    assert "failures" not in world.job()


def test_an_outcome_that_comes_while_it_reads_is_not_overruled(world: World, watch: Watch) -> None:
    fail_once(world)

    store = world.store

    def read_then_complete(keys: Any) -> Any:
        found = store.read(keys)
        record = Record.from_lambda(sqs_record(thing()))
        store.write(job_rows.completed(Delivery(credit, record, thing()), {"points": 204}, world.time.now))
        return found

    overtaken = Watch(Reading(store, read_then_complete), world.time)

    assert run(overtaken, letter()) == {"settled": 1}
    assert world.job()["state"] == "completed"


@dataclass
class Reading:
    """A store with another way to read."""

    store: Any
    read: Callable[[Any], Any]

    def write(self, write: Any) -> None:
        self.store.write(write)

    def change(self, update: Any) -> Any:
        return self.store.change(update)

    def transact(self, writes: Any) -> None:
        self.store.transact(writes)


def test_a_job_that_another_message_works_on_is_left_to_it(world: World, watch: Watch) -> None:
    fail_once(world, message_id="m2", publication="p2")

    assert run(watch, letter()) == {"left": 1}

    assert world.job()["state"] == "retrying"


def test_a_message_unheard_of_for_longer_than_any_visibility_timeout_works_on_nothing(
    world: World, watch: Watch
) -> None:
    fail_once(world, message_id="m2", publication="p2")
    world.time.now += LONGEST_VISIBILITY_SECONDS + 1

    assert run(watch, letter()) == {"closed": 1}

    row = world.job()
    assert (row["state"], row["messageId"], row["publication"]) == ("dead", "m1", "p1")


def test_a_claimed_run_under_way_is_left_to_its_end(world: World, watch: Watch) -> None:
    lease = int((world.time.now + 30) * 1000)
    row = {"state": "running", "messageId": "m1", "leaseUntil": lease, "expires": RETENTION_SECONDS}
    world.store.write(Put(Key("jobs", thing().id, "points"), row))

    assert run(watch, letter()) == {"left": 1}
    world.time.now += 31
    assert run(watch, letter()) == {"closed": 1}

    assert "leaseUntil" not in world.job()


def test_a_cancellation_that_was_asked_for_outlives_the_crash(world: World, watch: Watch) -> None:
    world.store.write(job_rows.cancelling(Key("jobs", thing().id, "points"), "alice", world.time.now))
    run(watch, letter())
    world.time.now += 60

    assert deliver(world, message_id="m2", sent_at=world.time.now) == []

    assert world.job()["state"] == "cancelled"
    assert points(world) == 0


def test_an_effect_that_is_its_own_marker_settles_its_job(world: World, watch: Watch) -> None:
    world.store.write(Put(Key("shop", thing().id, "pick"), {"job": {"result": {"pick": 1}}}))
    open_row = {"state": "retrying", "open": "retrying", "since": 1, "messageId": "m1"}
    world.store.write(Put(Key("jobs", thing().id, "pick"), open_row))

    assert run(watch, letter(), job_type=pick) == {"settled": 1}

    row = world.job(subscriber="pick")
    assert (row["state"], row["result"], "open" in row) == ("completed", {"pick": 1}, False)


def test_what_cannot_be_read_is_counted_and_harms_no_neighbour(world: World, watch: Watch) -> None:
    assert run(watch, letter("{", message_id="m0"), letter()) == {"unreadable": 1, "closed": 1}


def test_a_bad_payload_is_a_job_all_the_same(world: World, watch: Watch) -> None:
    body = json.dumps({**json.loads(thing().to_json()), "data": {"surprise": 1}, "version": 9})

    assert run(watch, letter(body)) == {"closed": 1}


def test_the_queue_is_read_whole_and_every_letter_is_given_back(world: World, watch: Watch) -> None:
    queue = ScriptedLetters([letter(thing(number), message_id=f"m{number}") for number in range(25)])

    assert watch.run([(credit, queue)], plenty) == {"closed": 25}

    assert len(queue.released) == 25
    assert queue.held == []


def test_two_letters_of_one_job_close_it_once(world: World, watch: Watch) -> None:
    counts = run(watch, letter(), letter(message_id="m2", publication="p2"))

    assert counts == {"closed": 1, "settled": 1}
    assert len(world.job()["failures"]) == 1


def test_an_empty_queue_costs_one_question(world: World, watch: Watch) -> None:
    queue = ScriptedLetters()

    assert watch.run([(credit, queue)], plenty) == {}

    assert queue.receives == 0
    assert world.calls == []


def test_a_queue_that_is_being_redriven_is_left_alone(world: World, watch: Watch) -> None:
    queue = ScriptedLetters([letter()], is_moving=True)

    assert watch.run([(credit, queue)], plenty) == {}

    assert queue.receives == 0


def test_an_unchanged_queue_is_read_again_only_after_a_while(world: World, watch: Watch) -> None:
    queue = ScriptedLetters([letter()])
    watch.run([(credit, queue)], plenty)
    world.time.now += READ_AGAIN_SECONDS - 1

    assert watch.run([(credit, queue)], plenty) == {}
    queue.letters.append(letter(thing(1002), message_id="m2"))
    assert watch.run([(credit, queue)], plenty) == {"settled": 1, "closed": 1}
    world.time.now += READ_AGAIN_SECONDS
    assert watch.run([(credit, queue)], plenty) == {"settled": 2}


def test_a_queue_with_something_left_open_is_read_again_at_once(world: World, watch: Watch) -> None:
    fail_once(world, message_id="m2", publication="p2")
    queue = ScriptedLetters([letter()])

    assert [watch.run([(credit, queue)], plenty) for _ in range(2)] == [{"left": 1}, {"left": 1}]


def test_with_little_time_left_it_stops_and_gives_back(world: World, watch: Watch) -> None:
    queue = ScriptedLetters([letter(thing(number), message_id=f"m{number}") for number in range(25)])
    remaining = iter([50_000, 9_999])

    assert watch.run([(credit, queue)], lambda: next(remaining)) == {"closed": 10}

    assert queue.held == []
    assert watch.run([(credit, queue)], plenty) == {"settled": 10, "closed": 15}


def test_a_queue_that_cannot_be_read_keeps_no_other_from_it(world: World, watch: Watch) -> None:
    broken = ScriptedLetters(failure=Transient("away"))

    assert watch.run([(pick, broken), (credit, ScriptedLetters([letter()]))], plenty) == {"closed": 1}


@dataclass
class Tasks:
    """What SQS answers to ListMessageMoveTasks, which moto does not know."""

    status: str | None = None

    def __call__(self, **_: Any) -> Any:
        @dataclass
        class Ok:
            status_code: int = 200

        tasks = [{"Status": self.status}] if self.status else []
        return Ok(), {"Results": tasks, "ResponseMetadata": {"HTTPStatusCode": 200}}


@pytest.fixture
def tasks(world: World) -> Tasks:
    tasks = Tasks()
    world.take_own_session().events.register("before-call.sqs.ListMessageMoveTasks", tasks)
    return tasks


@pytest.fixture
def sqs_letters(world: World, tasks: Tasks) -> SqsDeadLetters:
    world.sqs.create_queue(QueueName="stack-points-dead-letters")
    return SqsDeadLetters(world.deployment, "points")


def send_letters(world: World, count: int) -> str:
    url: str = world.sqs.get_queue_url(QueueName="stack-points-dead-letters")["QueueUrl"]
    for number in range(count):
        world.sqs.send_message(
            QueueUrl=url,
            MessageBody=thing(number).to_json(),
            MessageAttributes={"publication": {"DataType": "String", "StringValue": f"p{number}"}},
        )
    return url


def test_on_sqs_the_letters_stay_and_are_visible_at_once(
    world: World, watch: Watch, sqs_letters: SqsDeadLetters
) -> None:
    url = send_letters(world, 12)

    assert watch.run([(credit, sqs_letters)], plenty) == {"closed": 12}

    seen = world.sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10)["Messages"]
    assert len(seen) == 10
    assert world.job("thing-3-done")["publication"] == "p3"
    assert world.job("thing-3-done")["messageId"]


@pytest.mark.parametrize(
    ("status", "moving"),
    [("RUNNING", True), ("CANCELLING", True), ("COMPLETED", False), ("FAILED", False), (None, False)],
)
def test_a_move_task_at_work_is_seen(
    sqs_letters: SqsDeadLetters, tasks: Tasks, status: str | None, moving: bool
) -> None:
    tasks.status = status
    sqs_letters.depth()

    assert sqs_letters.is_being_moved() is moving


def test_on_sqs_an_empty_queue_costs_one_call_once_its_url_is_known(
    world: World, watch: Watch, sqs_letters: SqsDeadLetters
) -> None:
    watch.run([(credit, sqs_letters)], plenty)
    world.forget_calls()

    watch.run([(credit, sqs_letters)], plenty)

    assert world.calls == ["GetQueueAttributes"]


def test_a_missing_queue_is_transient(world: World, tasks: Tasks) -> None:
    with pytest.raises(Transient, match="stack-points-dead-letters"):
        SqsDeadLetters(world.deployment, "points").depth()
