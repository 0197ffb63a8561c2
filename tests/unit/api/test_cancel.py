"""DELETE /jobs/{id}: what has not started is cancelled, what may be under way is asked to stop."""

import json
from typing import Any

import pytest

from handlers.postroom.cancellation import Cancellation
from handlers.postroom.discovery import job_types
from handlers.postroom.http import Answer, answer
from handlers.postroom.jobs import RETENTION_SECONDS
from handlers.postroom.storage import Key
from handlers.shop.orders import ORDER_PAID, OrderPaid
from tests.fakes import FakeStore, meanwhile
from tests.unit.gateway import NOW, gateway_event, problem_of

EVENT = ORDER_PAID.new(
    "order-1001",
    OrderPaid(order_id="1001", customer_id="alice", amount=2_042_500, currency="NGN"),
    sequence=1,
    time=NOW,
    owner="alice",
    trace="",
)
COMMIT, CALL, SELF_MARKING = "loyalty", "receipts", "warehouse"
SUBSCRIBERS = ("invoices", COMMIT, CALL, SELF_MARKING, "sales")


@pytest.fixture
def store() -> FakeStore:
    store = FakeStore()
    store.put(ORDER_PAID.row_key(EVENT.id), owner="alice", event=EVENT.to_json())
    return store


def cancel(store: FakeStore, asked: str = EVENT.id, caller: str = "alice") -> Answer:
    respond = Cancellation(store, job_types("handlers"), NOW.timestamp)
    event = gateway_event("", caller=caller, method="DELETE", path_parameters={"id": asked})
    return answer(respond, event)


def job(subscriber: str) -> str:
    return f"{EVENT.id}:{subscriber}"


def key(subscriber: str) -> Key:
    return Key("jobs", EVENT.id, subscriber)


def row(store: FakeStore, subscriber: str, state: str, **more: Any) -> None:
    store.put(key(subscriber), state=state, owner="alice", **more)


def state_of(cancelled: Answer) -> str:
    return str(json.loads(cancelled.body)["state"])


@pytest.mark.parametrize("state", [None, "retrying"])
def test_a_commit_that_waits_is_cancelled_at_once(store: FakeStore, state: str | None) -> None:
    if state:
        row(store, COMMIT, state, open="retrying", ownedOpen="retrying#alice", since=1)

    cancelled = cancel(store, job(COMMIT))

    assert (cancelled.status, state_of(cancelled)) == (200, "cancelled")
    assert store.items[key(COMMIT)]["state"] == "cancelled"
    assert not {"open", "ownedOpen", "since"} & set(store.items[key(COMMIT)])
    assert store.operations == ["read", "write", "read"]


@pytest.mark.parametrize("subscriber", [CALL, SELF_MARKING])
@pytest.mark.parametrize("state", [None, "retrying", "running"])
def test_what_may_be_under_way_is_asked_to_stop(store: FakeStore, subscriber: str, state: str | None) -> None:
    if state:
        row(store, subscriber, state)

    cancelled = cancel(store, job(subscriber))

    assert (cancelled.status, state_of(cancelled)) == (202, "cancelling")
    assert cancelled.headers["Retry-After"] == "5"
    assert store.items[key(subscriber)].get("state") == state


def test_an_event_is_cancelled_job_by_job(store: FakeStore) -> None:
    row(store, "invoices", "completed", result={})

    cancelled = cancel(store)

    jobs = {each["id"]: each["state"] for each in json.loads(cancelled.body)["jobs"]}
    assert cancelled.status == 202
    assert jobs == {
        job("invoices"): "completed",
        job(COMMIT): "cancelled",
        job(CALL): "cancelling",
        job(SELF_MARKING): "cancelling",
        job("sales"): "cancelling",
    }


@pytest.mark.parametrize("state", ["completed", "dead", "expired"])
def test_what_has_ended_is_409_and_says_how(store: FakeStore, state: str) -> None:
    row(store, CALL, state, result={})

    refusal = cancel(store, job(CALL))

    assert refusal.status == 409
    assert problem_of(refusal)["code"] == "not_cancellable"
    assert state in problem_of(refusal)["detail"]
    assert store.items[key(CALL)]["state"] == state


def test_a_marker_has_ended_its_job(store: FakeStore) -> None:
    store.put(Key("shop", "order-1001", "pick"), job={"result": {"pick": "p"}})

    assert cancel(store, job(SELF_MARKING)).status == 409


def test_an_event_of_which_all_has_ended_is_409(store: FakeStore) -> None:
    for subscriber in SUBSCRIBERS:
        row(store, subscriber, "completed", result={})

    assert cancel(store).status == 409


@pytest.mark.parametrize("subscriber", [COMMIT, CALL])
def test_asking_twice_is_asking_once(store: FakeStore, subscriber: str) -> None:
    first = cancel(store, job(subscriber))

    again = cancel(store, job(subscriber))

    assert (again.status, again.body) == (first.status, first.body)
    assert store.operations.count("write") == 1


@pytest.mark.parametrize("subscriber", [COMMIT, CALL])
def test_a_result_that_comes_first_wins(store: FakeStore, subscriber: str) -> None:
    store.faults.on("write", meanwhile(lambda: row(store, subscriber, "completed", result={})))

    refusal = cancel(store, job(subscriber))

    assert refusal.status == 409
    assert "completed" in problem_of(refusal)["detail"]
    assert store.items[key(subscriber)]["state"] == "completed"


@pytest.mark.parametrize("asked", ["order-1002-paid", "order-1001-paid:nobody", "x"])
def test_unknown_ids_and_other_callers_get_the_same_404(store: FakeStore, asked: str) -> None:
    assert cancel(store, asked) == cancel(store, EVENT.id, caller="bola")
    assert cancel(store, asked).status == 404
    assert "write" not in store.operations


def test_the_row_keeps_its_owner_and_expires(store: FakeStore) -> None:
    cancel(store)

    for subscriber in (COMMIT, CALL):
        assert store.items[key(subscriber)]["owner"] == "alice"
        assert store.items[key(subscriber)]["expires"] == int(NOW.timestamp()) + RETENTION_SECONDS
