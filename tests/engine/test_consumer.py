"""What the consumer promises about commits: each effect once, each record to its own end."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from handlers.postroom.aws.queue_entry import queue_handler
from handlers.postroom.errors import AlreadyDone, Permanent, Transient
from handlers.postroom.jobs import Call, Commit, CommitJob, Job, call_job, commit_job
from handlers.postroom.retries import Jitter, RetryPolicy
from handlers.postroom.storage import Key, Put, Update

from .conftest import (
    NOW,
    THING_DONE,
    THING_DONE_3,
    Invocation,
    ThingDone,
    ThingDone3,
    World,
    body_of,
    sqs_record,
    thing,
)

POLICY = RetryPolicy(attempts=4, base_ms=1_000, cap_ms=60_000, jitter=Jitter.NONE)


def entry_key(event_id: str, customer: str) -> Key:
    return Key("shop", f"customer-{customer}", f"points-{event_id}")


@commit_job("points", on=THING_DONE, retry=POLICY)
def credit(job: Job[ThingDone]) -> Commit:
    points = job.data.amount // 10_000
    entry = Put(
        entry_key(job.event.id, job.data.customer), {"points": points}, refused=AlreadyDone("credited")
    )
    return Commit([entry], result={"points": points})


@commit_job("points", on=THING_DONE_3, retry=POLICY)
def credit_since_3(job: Job[ThingDone3]) -> Commit:
    return Commit([], result={"price": job.data.price})


@dataclass
class Scripted:
    """A commit job that fails as told, by event id, and counts its runs."""

    failures: dict[str, list[Exception]] = field(default_factory=dict)
    runs: list[str] = field(default_factory=list)
    on_run: Callable[[], None] = lambda: None

    def job_type(self, policy: RetryPolicy = POLICY, needs_ms: int = 1_000) -> CommitJob[ThingDone]:
        return commit_job("points", on=THING_DONE, retry=policy, needs_ms=needs_ms)(self._run)

    def _run(self, job: Job[ThingDone]) -> Commit:
        self.runs.append(job.event.id)
        self.on_run()
        if self.failures.get(job.event.id):
            raise self.failures[job.event.id].pop(0)
        return credit.run(job)


def deliver(
    world: World, job_type: Any, records: Sequence[dict[str, Any]], context: Invocation | None = None
) -> list[str]:
    """Invoke the subscriber once; the message ids that it reports as failed."""
    provider = {} if isinstance(job_type, CommitJob) else {"provider": lambda _: None}
    handler = queue_handler(job_type, **provider).on(world.deployment)
    answer = handler({"Records": list(records)}, context or Invocation())
    assert list(answer) == ["batchItemFailures"]
    return [failure["itemIdentifier"] for failure in answer["batchItemFailures"]]


def ledger_points(world: World, *numbers: int) -> int:
    keys = [entry_key(f"thing-{number}-done", f"c{number}") for number in numbers]
    return sum(int(item["points"]) for item in world.store.read(keys).values())


def test_three_deliveries_credit_once(world: World) -> None:
    for delivery in (1, 2, 3):
        failed = deliver(world, credit, [sqs_record(thing(), message_id=f"m{delivery}")])
        assert failed == []

    assert ledger_points(world, 1001) == 204
    assert world.job()["result"] == {"points": 204}


def test_a_naive_consumer_ends_at_612_points(world: World) -> None:
    total = 0
    for _ in range(3):
        total += thing().data.amount // 10_000

    assert total == 612


def test_ten_first_receives_are_one_transaction_and_no_read(world: World) -> None:
    records = [sqs_record(thing(number), message_id=f"m{number}") for number in range(10)]

    failed = deliver(world, credit, records)

    assert failed == []
    assert world.calls == ["TransactWriteItems"]
    assert ledger_points(world, *range(10)) == 2_040


def test_ten_redelivered_are_one_batch_read_and_nothing_else(world: World) -> None:
    deliver(world, credit, [sqs_record(thing(number), message_id=f"m{number}") for number in range(10)])
    world.forget_calls()

    again = [sqs_record(thing(n), message_id=f"m{n}", receive_count=2) for n in range(10)]
    failed = deliver(world, credit, again)

    assert failed == []
    assert world.calls == ["BatchGetItem"]
    assert ledger_points(world, *range(10)) == 2_040


def test_a_duplicate_among_first_receives_costs_its_neighbours_one_more_call(world: World) -> None:
    deliver(world, credit, [sqs_record(thing(3), message_id="early")])
    world.forget_calls()

    failed = deliver(world, credit, [sqs_record(thing(n), message_id=f"m{n}") for n in range(10)])

    assert failed == []
    assert world.calls == ["TransactWriteItems", "TransactWriteItems"]
    assert ledger_points(world, *range(10)) == 2_040


def test_two_copies_in_one_batch_take_effect_once(world: World) -> None:
    records = [sqs_record(thing(), message_id="a"), sqs_record(thing(), message_id="b")]

    failed = deliver(world, credit, records)

    assert failed == []
    assert ledger_points(world, 1001) == 204


def test_a_message_twice_in_one_batch_that_comes_back_is_named_once(world: World) -> None:  # BATCH-5
    busy = Scripted(failures={thing().id: [Transient("busy"), Transient("busy")]})
    records = [sqs_record(thing(), message_id="a")] * 2

    assert deliver(world, busy.job_type(), records) == ["a"]


def test_an_effect_that_stands_although_its_marker_is_gone_completes_the_job(world: World) -> None:
    world.store.write(Put(entry_key("thing-1001-done", "c1001"), {"points": 204}))

    failed = deliver(world, credit, [sqs_record(thing())])

    assert failed == []
    assert world.job()["state"] == "completed"


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("null", id="BATCH-3-null"),
        pytest.param("[1]", id="BATCH-3-array"),
        pytest.param("", id="BATCH-3-empty"),
        pytest.param('{"id":', id="BATCH-3-cut"),
        pytest.param('""', id="BATCH-3-string"),
        pytest.param('{"a":1,"a":2}', id="JSON-1-repeated-key"),
        pytest.param('{"id":' + "9" * 4_301 + "}", id="JSON-2-4301-digits"),
        pytest.param("[" * 100_000, id="deep-nesting"),
        pytest.param('{"id":NaN}', id="nan"),
        pytest.param('{"id":"\\ud800"}', id="lone-surrogate"),
        pytest.param(
            '{"Type":"Notification","TopicArn":"arn:aws:sns:eu-west-1:1:t","Message":"{}"}',
            id="SNS-5-wrapped",
        ),
    ],
)
def test_an_unreadable_body_fails_alone(world: World, body: str) -> None:
    records = [
        sqs_record(thing(1), message_id="good-1"),
        sqs_record(body, message_id="bad"),
        sqs_record(thing(2), message_id="good-2"),
    ]

    failed = deliver(world, credit, records)

    assert failed == ["bad"]
    assert ledger_points(world, 1, 2) == 408


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        pytest.param(body_of(thing(), type="thing.lost"), "'thing.lost' came where", id="other-type"),
        pytest.param(
            body_of(thing(), data={"customer": "c"}), "data.amount: Field required", id="missing-field"
        ),
        pytest.param(
            body_of(thing(), data={"customer": "c", "amount": True}), "data.amount: Input should", id="bool"
        ),
    ],
)
def test_a_payload_that_cannot_be_read_is_dead_at_once_and_says_why(
    world: World, body: str, reason: str
) -> None:
    failed = deliver(world, credit, [sqs_record(body)])

    assert failed == ["m1"]
    row = world.job()
    assert (row["state"], row["attempts"]) == ("dead", 1)
    assert reason in row["failures"][0]["message"]


def test_a_version_from_the_future_waits_and_is_done_once_the_code_knows_it(world: World) -> None:
    body = body_of(thing(), version=3, data={"customer": "c1001", "price": "2042500 NGN"})

    assert deliver(world, credit, [sqs_record(body)]) == ["m1"]

    row = world.job()
    assert (row["state"], row["attempts"]) == ("retrying", 1)
    assert row["failures"][0]["error"] == "NewerVersion"
    assert row["failures"][0]["message"] == "version 3 of thing.done is newer than the code here (known: 1)"

    assert deliver(world, credit_since_3, [sqs_record(body, receive_count=2)]) == []

    assert (world.job()["state"], world.job()["result"]) == ("completed", {"price": "2042500 NGN"})


def test_a_version_that_stays_unknown_ends_dead_and_a_redrive_after_the_deploy_mends_it(
    world: World,
) -> None:
    body = body_of(thing(), version=3, data={"customer": "c1001", "price": "2042500 NGN"})

    for receive_count in range(1, 6):
        assert deliver(world, credit, [sqs_record(body, receive_count=receive_count)]) == ["m1"]

    row = world.job()
    assert (row["state"], row["attempts"]) == ("dead", POLICY.attempts)
    assert "newer than the code here" in row["failures"][-1]["message"]

    redriven = sqs_record(body, message_id="m2", sent_at=NOW.timestamp() + 60)
    assert deliver(world, credit_since_3, [redriven]) == []
    assert world.job()["state"] == "completed"


def test_an_event_of_an_older_version_has_the_same_effect(world: World) -> None:
    assert deliver(world, credit_since_3, [sqs_record(thing())]) == []

    assert world.job()["result"] == {"price": "2042500 NGN"}


def test_a_transient_failure_is_retried_after_its_backoff_with_its_ledger(world: World) -> None:
    script = Scripted({"thing-1001-done": [TimeoutError("slow mailer"), OSError("reset")]})
    job_type = script.job_type()

    first = deliver(world, job_type, [sqs_record(thing())])
    second = deliver(world, job_type, [sqs_record(thing(), receive_count=2)])

    row = world.job()
    assert (first, second) == (["m1"], ["m1"])
    assert (row["state"], row["attempts"]) == ("retrying", 2)
    assert [entry["error"] for entry in row["failures"]] == ["TimeoutError", "OSError"]
    assert row["failures"][0]["where"].startswith("test_consumer.py:")

    third = deliver(world, job_type, [sqs_record(thing(), receive_count=3)])

    assert third == []
    row = world.job()
    assert (row["state"], row["attempts"]) == ("completed", 3)
    assert "open" not in row
    assert ledger_points(world, 1001) == 204


def test_the_last_attempt_ends_dead_and_no_later_delivery_runs(world: World) -> None:
    script = Scripted({"thing-1001-done": [OSError(str(n)) for n in range(9)]})
    job_type = script.job_type()

    for receive_count in range(1, 8):
        assert deliver(world, job_type, [sqs_record(thing(), receive_count=receive_count)]) == ["m1"]

    assert len(script.runs) == 4
    assert (world.job()["state"], world.job()["attempts"]) == ("dead", 4)


def test_a_permanent_failure_is_dead_after_one_run(world: World) -> None:
    script = Scripted({"thing-1001-done": [Permanent("bola.example.com is no address")]})
    job_type = script.job_type()

    for receive_count in (1, 2, 3):
        assert deliver(world, job_type, [sqs_record(thing(), receive_count=receive_count)]) == ["m1"]

    assert script.runs == ["thing-1001-done"]
    assert world.job()["state"] == "dead"


def test_a_failing_record_never_fails_its_neighbours(world: World) -> None:
    script = Scripted({"thing-2-done": [Permanent("no")], "thing-3-done": [OSError("later")]})

    failed = deliver(world, script.job_type(), [sqs_record(thing(n), message_id=f"m{n}") for n in range(5)])

    assert failed == ["m2", "m3"]
    assert ledger_points(world, 0, 1, 4) == 612


def test_a_redrive_reopens_a_dead_job_and_a_repeat_does_not(world: World) -> None:
    script = Scripted({"thing-1001-done": [Permanent("mended later")]})
    job_type = script.job_type()
    deliver(world, job_type, [sqs_record(thing())])

    repeat = deliver(world, job_type, [sqs_record(thing(), message_id="m2", publication="p2")])
    assert (repeat, world.job()["state"]) == ([], "dead")

    later = NOW.timestamp() + 60
    redriven = deliver(world, job_type, [sqs_record(thing(), message_id="m3", sent_at=later)])

    assert redriven == []
    row = world.job()
    assert (row["state"], row["generation"]) == ("completed", 1)
    assert ledger_points(world, 1001) == 204


def test_message_ids_are_not_identities(world: World) -> None:
    deliver(world, credit, [sqs_record(thing(), message_id="m1")])

    redriven = sqs_record(thing(), message_id="new", sent_at=NOW.timestamp() + 60)  # IDEM-1
    assert deliver(world, credit, [redriven]) == []
    assert ledger_points(world, 1001) == 204


def test_little_time_left_gives_back_what_has_not_started(world: World) -> None:
    clock = {"left": 2_000}
    script = Scripted(on_run=lambda: clock.update(left=clock["left"] - 400))
    context = Invocation(lambda: clock["left"])
    records = [sqs_record(thing(n), message_id=f"m{n}") for n in range(10)]

    failed = deliver(world, script.job_type(), records, context)  # BATCH-1

    assert len(script.runs) == 3
    assert failed == [f"m{n}" for n in range(3, 10)]
    assert ledger_points(world, *range(10)) == 612
    assert clock["left"] > 0


def test_what_is_given_back_has_spent_no_attempt(world: World) -> None:
    script = Scripted({"thing-1001-done": [OSError()] * 3})
    job_type = script.job_type()
    for receive_count in (1, 2, 3, 4, 5):
        deliver(world, job_type, [sqs_record(thing(), receive_count=receive_count)], Invocation(lambda: 10))

    for receive_count in (6, 7, 8, 9):
        deliver(world, job_type, [sqs_record(thing(), receive_count=receive_count)])

    assert world.job()["state"] == "completed"
    assert len(script.runs) == 4


def test_a_crashed_run_counts_as_an_attempt(world: World) -> None:
    def crash() -> None:
        raise KeyboardInterrupt

    script = Scripted(on_run=crash)
    with pytest.raises(KeyboardInterrupt):
        deliver(world, script.job_type(), [sqs_record(thing())])
    with pytest.raises(KeyboardInterrupt):
        deliver(world, script.job_type(), [sqs_record(thing(), receive_count=2)])
    assert world.job()["attempts"] == 2

    calm = Scripted({"thing-1001-done": [OSError("now seen")]})
    deliver(world, calm.job_type(), [sqs_record(thing(), receive_count=3)])

    assert world.job()["attempts"] == 3


def test_a_record_that_kills_its_process_runs_after_its_neighbours(world: World) -> None:
    def kill_on_poison() -> None:
        if script.runs[-1] == "thing-0-done":
            raise KeyboardInterrupt

    script = Scripted(on_run=kill_on_poison)
    for receive_count in (1, 2, 3):
        records = [sqs_record(thing(n), message_id=f"m{n}", receive_count=receive_count) for n in range(10)]
        with pytest.raises(KeyboardInterrupt):
            deliver(world, script.job_type(), records)

    assert ledger_points(world, *range(1, 10)) == 9 * 204


def test_past_its_deadline_a_job_expires_without_effect(world: World) -> None:
    policy = RetryPolicy(deadline_seconds=300)
    script = Scripted()
    world.time.now += 301

    assert deliver(world, script.job_type(policy), [sqs_record(thing())]) == []

    assert script.runs == []
    assert world.job()["state"] == "expired"


def test_a_failure_that_cannot_be_recorded_still_brings_the_record_back(world: World) -> None:
    script = Scripted({"thing-1001-done": [OSError("reset")]})
    broken = {**world.deployment.environ, "JOBS_TABLE": "NoSuchTable"}
    world.deployment = type(world.deployment)(
        broken, world.deployment.session, world.time, lambda: 1.0, lambda: "id", lambda _: None
    )

    assert deliver(world, script.job_type(), [sqs_record(thing())]) == ["m1"]


def send_through(sent: list[str], job: Job[ThingDone]) -> dict[str, Any]:
    sent.append(job.idempotency_key)
    return {"messageId": f"e_{len(sent)}"}


def test_a_call_is_looked_up_made_once_and_recorded_once(world: World) -> None:
    sent: list[str] = []

    @call_job("mail", on=THING_DONE, retry=POLICY)
    def send(job: Job[ThingDone]) -> Call[None]:
        return Call(lambda _: send_through(sent, job))

    first = [sqs_record(thing(n), message_id=f"m{n}") for n in range(10)]
    assert deliver(world, send, first) == []
    assert world.calls == ["BatchGetItem"] + ["UpdateItem"] * 10

    world.forget_calls()
    assert deliver(world, send, [sqs_record(thing(n), message_id=f"x{n}") for n in range(10)]) == []
    assert world.calls == ["BatchGetItem"]
    assert sent == [f"thing-{n}-done:mail" for n in range(10)]


def test_two_copies_of_a_call_in_one_batch_are_one_call(world: World) -> None:
    sent: list[str] = []

    @call_job("mail", on=THING_DONE, retry=POLICY)
    def send(job: Job[ThingDone]) -> Call[None]:
        return Call(lambda _: send_through(sent, job))

    deliver(world, send, [sqs_record(thing(), message_id="a"), sqs_record(thing(), message_id="b")])

    assert len(sent) == 1


def test_a_call_may_commit_writes_with_its_record(world: World) -> None:
    note = Put(Key("shop", "thing-1001", "note"), {"sent": True})

    @call_job("mail", on=THING_DONE, retry=POLICY)
    def send(job: Job[ThingDone]) -> Call[None]:
        return Call(lambda _: {}, then=[note])

    assert deliver(world, send, [sqs_record(thing())]) == []

    assert world.store.read([note.key])[note.key]["sent"] is True
    assert world.job(subscriber="mail")["state"] == "completed"


def pick_key(event_id: str) -> Key:
    return Key("shop", event_id.removesuffix("-done"), "pick")


@commit_job("warehouse", on=THING_DONE, retry=POLICY, marker=pick_key)
def pick(job: Job[ThingDone]) -> Commit:
    return Commit([Put(pick_key(job.event.id), {"lines": 1})], result={"pick": job.event.aggregate})


def test_an_effect_that_is_its_own_marker_is_one_write(world: World) -> None:
    for message_id in ("a", "b", "c"):
        assert deliver(world, pick, [sqs_record(thing(), message_id=message_id)]) == []

    assert world.calls == ["BatchGetItem", "PutItem", "BatchGetItem", "BatchGetItem"]
    item = world.store.read([pick_key("thing-1001-done")])[pick_key("thing-1001-done")]
    assert item["job"]["id"] == "thing-1001-done:warehouse"
    assert world.job(subscriber="warehouse") == {}


def test_a_self_marking_job_that_failed_first_closes_its_row_with_the_effect(world: World) -> None:
    failures = [OSError("busy")]

    @commit_job("warehouse", on=THING_DONE, retry=POLICY, marker=pick_key)
    def flaky(job: Job[ThingDone]) -> Commit:
        if failures:
            raise failures.pop()
        return pick.run(job)

    assert deliver(world, flaky, [sqs_record(thing())]) == ["m1"]
    assert deliver(world, flaky, [sqs_record(thing(), receive_count=2)]) == []

    assert world.job(subscriber="warehouse")["state"] == "completed"


def test_two_racing_picks_are_one_pick(world: World) -> None:
    @commit_job("warehouse", on=THING_DONE, retry=POLICY, marker=pick_key)
    def raced(job: Job[ThingDone]) -> Commit:
        deliver(world, pick, [sqs_record(thing(), message_id="quicker")])
        return pick.run(job)

    assert deliver(world, raced, [sqs_record(thing(), message_id="slower")]) == []

    assert len(world.deployment.session.client("dynamodb").scan(TableName="Shop")["Items"]) == 1


def test_an_update_of_something_unknown_makes_no_phantom(world: World) -> None:
    ghost = Key("shop", "thing-1001", "entity")

    @commit_job("points", on=THING_DONE, retry=POLICY)
    def ship(job: Job[ThingDone]) -> Commit:
        return Commit([Update(ghost, set={"status": "SHIPPED"}, refused=Permanent("no such thing"))])

    assert deliver(world, ship, [sqs_record(thing())]) == ["m1"]  # DDB-3

    assert world.store.read([ghost]) == {}
    assert world.job()["failures"][0]["message"] == "no such thing"


def test_the_ledger_holds_no_personal_data_and_stays_small(world: World) -> None:
    errors: list[Exception] = [
        OSError(f"no route to bola@example.com, card 4242 4242 4242 4242 ({n})") for n in range(40)
    ]
    script = Scripted({"thing-1001-done": errors})
    job_type = script.job_type(RetryPolicy(attempts=50, jitter=Jitter.NONE))

    for receive_count in range(1, 31):
        deliver(world, job_type, [sqs_record(thing(), receive_count=receive_count)])

    row = world.job()
    assert row["attempts"] == 30
    assert len(row["failures"]) == 20
    assert [entry["attempt"] for entry in row["failures"]] == [1, 2, 3, 4, 5, *range(16, 31)]
    assert "bola" not in str(row)
    assert "4242" not in str(row)


def test_backoff_and_give_back_reach_the_queue(world: World) -> None:
    world.sqs.send_message(QueueUrl=world.queue_url, MessageBody=thing().to_json())
    message = world.sqs.receive_message(
        QueueUrl=world.queue_url, MessageSystemAttributeNames=["All"], VisibilityTimeout=600
    )["Messages"][0]
    record = {
        **sqs_record(thing(), message_id=message["MessageId"]),
        "receiptHandle": message["ReceiptHandle"],
    }
    script = Scripted({"thing-1001-done": [Permanent("dead at once")]})

    deliver(world, script.job_type(), [record])

    visible = world.sqs.receive_message(QueueUrl=world.queue_url, WaitTimeSeconds=0)
    assert [each["MessageId"] for each in visible["Messages"]] == [message["MessageId"]]


def test_a_stale_receipt_handle_decides_nothing(world: World) -> None:
    records = [sqs_record(thing(1), message_id="m1"), sqs_record(thing(2), message_id="m2")]
    script = Scripted({"thing-1-done": [OSError("reset")]})

    assert deliver(world, script.job_type(), records) == ["m1"]  # SQS-5: moto knows none of these handles

    assert ledger_points(world, 2) == 204
