"""A transaction that is cancelled for what a write is, and not for a condition.

`ValidationError` stands for an item above 400 KB, a number out of range, a wrong type of an index's key.
docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html
"""

from typing import Any

import pytest

from handlers.postroom.consumer import Consumer
from handlers.postroom.errors import AlreadyDone, CancelledBecause, TransactionCancelled
from handlers.postroom.jobs import Commit, Job, commit_job
from handlers.postroom.records import Record
from handlers.postroom.settlement import Surroundings
from handlers.postroom.storage import Key, Put
from tests.engine.conftest import THING_DONE, ThingDone, thing
from tests.fakes import FakeStore, failing

EFFECT, ROW = Key("shop", "customer", "points"), Key("jobs", thing().id, "points")
TOO_LARGE = CancelledBecause("ValidationError", "Item size has exceeded the maximum allowed size", None)


@commit_job("points", on=THING_DONE)
def credit(_job: Job[ThingDone]) -> Commit:
    return Commit([Put(EFFECT, {"points": 204}, refused=AlreadyDone("credited"))], result={"points": 204})


@pytest.mark.parametrize("reasons", [(None, TOO_LARGE), (TOO_LARGE, None)], ids=["effect", "row"])
def test_it_is_a_failure_of_its_job_and_not_a_repeat(reasons: Any) -> None:
    store = FakeStore()
    store.faults.on("transact", failing(TransactionCancelled(reasons)))
    around = Surroundings(store, lambda: 1_764_504_000.0, lambda: 0.0, lambda _: None)
    record = Record("m1", "handle", thing().to_json(), 1, 1_764_504_000.0, "p1")
    consumer: Consumer[ThingDone] = Consumer(credit, around, lambda _: {})

    outcomes = consumer.handle([record], lambda: 30_000)

    assert outcomes["m1"].name == "dead"
    assert EFFECT not in store.items
    row = store.items[ROW]
    assert (row["state"], row["attempts"]) == ("dead", 1)
    assert "maximum allowed size" in row["failures"][0]["message"]
