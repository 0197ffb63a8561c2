"""Group commit against a database that answers as told."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from handlers.postroom.deliveries import Delivery
from handlers.postroom.errors import CancelledBecause, Permanent, TransactionCancelled, Transient
from handlers.postroom.group_commit import GroupCommit, Prepared, Refusal, Verdict, pack
from handlers.postroom.jobs import Commit, commit_job
from handlers.postroom.records import Record
from handlers.postroom.storage import Item, Key, Put, Update, Write

from .conftest import THING_DONE, thing

JOB = commit_job("points", on=THING_DONE)(lambda _job: Commit([]))


def prepared(number: int, *, keys: Sequence[str] = (), bytes_each: int = 1) -> Prepared:
    event = thing(number)
    record = Record(f"m{number}", "handle", event.to_json(), 1, 0.0, "p")
    writes = [
        Put(Key("shop", key, "x"), {"filler": "f" * bytes_each})
        for key in keys or (f"{number}-a", f"{number}-b")
    ]
    return Prepared(Delivery(JOB, record, event), writes, {})


@dataclass
class ScriptedStore:
    """Answers each transaction by what `judge` says of it: an exception to raise, or None."""

    judge: Callable[[list[str]], Exception | None]
    transactions: list[list[str]] = field(default_factory=list)

    def transact(self, writes: Sequence[Write]) -> None:
        names = [write.key.pk for write in writes]
        self.transactions.append(names)
        error = self.judge(names)
        if error:
            raise error

    def read(self, keys: Any) -> dict[Key, Item]:
        raise AssertionError("a commit never reads")

    def write(self, write: Write) -> None:
        raise AssertionError("a commit is a transaction")

    def change(self, update: Update) -> Item:
        raise AssertionError("a commit is a transaction")


def cancelled(names: list[str], culprits: dict[str, str]) -> TransactionCancelled | None:
    reasons = [CancelledBecause(culprits[name], "", None) if name in culprits else None for name in names]
    return TransactionCancelled(tuple(reasons)) if any(reasons) else None


def outcomes(
    store: ScriptedStore, jobs: Sequence[Prepared], pauses: list[float] | None = None
) -> dict[str, Verdict]:
    pause = (pauses if pauses is not None else []).append
    return {
        job.delivery.record.message_id: verdict for job, verdict in GroupCommit(store, pause).commit(jobs)
    }


def test_a_named_culprit_costs_its_neighbours_one_more_call() -> None:
    store = ScriptedStore(lambda names: cancelled(names, {"3-a": "ConditionalCheckFailed"}))

    verdicts = outcomes(store, [prepared(n) for n in range(10)])

    assert len(store.transactions) == 2
    refused = [name for name, verdict in verdicts.items() if verdict is not None]
    assert refused == ["m3"]
    assert isinstance(verdicts["m3"], Refusal)


def test_several_culprits_are_split_out_at_once() -> None:
    bad = {"1-b": "ConditionalCheckFailed", "7-a": "ConditionalCheckFailed"}
    store = ScriptedStore(lambda names: cancelled(names, bad))

    verdicts = outcomes(store, [prepared(n) for n in range(10)])

    assert len(store.transactions) == 2
    assert sorted(name for name, verdict in verdicts.items() if verdict) == ["m1", "m7"]


def test_a_conflict_is_tried_again_and_is_not_a_duplicate() -> None:
    conflicts = iter([True, False])
    store = ScriptedStore(
        lambda names: cancelled(names, {"2-b": "TransactionConflict"}) if next(conflicts) else None
    )
    pauses: list[float] = []

    verdicts = outcomes(store, [prepared(n) for n in range(3)], pauses)  # DDB-4

    assert set(verdicts.values()) == {None}
    assert len(store.transactions) == 2
    assert pauses == [0.1]


def test_a_conflict_that_stays_is_a_transient_failure_of_that_job_alone() -> None:
    store = ScriptedStore(lambda names: cancelled(names, {"2-b": "TransactionConflict"}))

    verdicts = outcomes(store, [prepared(n) for n in range(3)])

    assert isinstance(verdicts["m2"], Transient)
    assert (verdicts["m0"], verdicts["m1"]) == (None, None)
    assert len(store.transactions) == 4


@pytest.mark.parametrize(
    ("code", "expected"),
    [("ValidationError", Permanent), ("ItemCollectionSizeLimitExceeded", Permanent), ("Unheard", Transient)],
)
def test_a_write_that_is_refused_for_no_condition_is_a_failure_of_that_job_alone(
    code: str, expected: type[Exception]
) -> None:
    """Else an item that is too large would be taken for an effect that is there already."""
    store = ScriptedStore(lambda names: cancelled(names, {"2-b": code}))

    verdicts = outcomes(store, [prepared(n) for n in range(3)])

    assert isinstance(verdicts["m2"], expected)
    assert (verdicts["m0"], verdicts["m1"]) == (None, None)


@pytest.mark.parametrize("error", [Permanent("item too large"), TypeError("float")])
def test_a_culprit_that_nobody_names_is_found_by_bisection(error: Exception) -> None:
    store = ScriptedStore(lambda names: error if "5-a" in names else None)

    verdicts = outcomes(store, [prepared(n) for n in range(8)])

    assert {name for name, verdict in verdicts.items() if verdict} == {"m5"}
    assert len(store.transactions) <= 7


def test_a_busy_database_fails_every_job_of_the_call_without_a_second_one() -> None:
    store = ScriptedStore(lambda _names: Transient("throttled"))

    verdicts = outcomes(store, [prepared(n) for n in range(5)])

    assert all(isinstance(verdict, Transient) for verdict in verdicts.values())
    assert len(store.transactions) == 1


def test_no_transaction_holds_more_than_a_hundred_items() -> None:
    groups = pack([prepared(n, keys=[f"{n}-{i}" for i in range(30)]) for n in range(7)])

    assert [sum(len(job.writes) for job in group) for group in groups] == [90, 90, 30]


def test_no_transaction_holds_an_item_twice() -> None:
    groups = pack([prepared(1, keys=["same"]), prepared(2, keys=["other"]), prepared(3, keys=["same"])])

    assert [len(group) for group in groups] == [2, 1]


def test_no_transaction_is_larger_than_four_megabytes() -> None:
    groups = pack([prepared(n, bytes_each=350_000) for n in range(10)])

    assert all(sum(job.estimated_bytes for job in group) < 4_000_000 for group in groups)
    assert sum(len(group) for group in groups) == 10
