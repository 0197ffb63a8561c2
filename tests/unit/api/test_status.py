"""GET /jobs/{id}: what the owner sees, what nobody else sees, and what it costs."""

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import handlers
from handlers.postroom.discovery import job_types
from handlers.postroom.http import Answer, answer
from handlers.postroom.job_views import overall
from handlers.postroom.jobs import JobType
from handlers.postroom.status import JobStatus
from handlers.postroom.storage import Key
from handlers.shop.orders import ORDER_PAID, OrderPaid
from tests.fakes import FakeStore
from tests.unit.gateway import NOW, gateway_event

EVENT = ORDER_PAID.new(
    "order-1001",
    OrderPaid(order_id="1001", customer_id="alice", amount=2_042_500, currency="NGN"),
    sequence=1,
    time=NOW,
    owner="alice",
    trace="",
)
JOB_TYPES = job_types("handlers")
SUBSCRIBERS = [each.subscriber for each in JOB_TYPES if ORDER_PAID.name in each.on.names]
PICK = Key("shop", "order-1001", "pick")
SALE = Key("shop", "order-1001", "sale")


@pytest.fixture
def store() -> FakeStore:
    store = FakeStore()
    store.put(ORDER_PAID.row_key(EVENT.id), owner="alice", event=EVENT.to_json())
    return store


def get(
    store: FakeStore,
    asked: str = EVENT.id,
    caller: str = "alice",
    headers: Mapping[str, str] | None = None,
    types: Any = JOB_TYPES,
) -> Answer:
    event = gateway_event("", caller=caller, headers=headers, path_parameters={"id": asked})
    return answer(JobStatus(store, types), event)


def document(status: Answer) -> dict[str, Any]:
    assert status.status == 200, status.body
    assert status.headers["Content-Type"] == "application/json"
    value: dict[str, Any] = json.loads(status.body)
    return value


def row(store: FakeStore, subscriber: str, state: str, **more: Any) -> None:
    store.put(Key("jobs", EVENT.id, subscriber), state=state, owner="alice", **more)


def test_discovery_finds_a_job_type_in_every_queue_entry() -> None:
    entries = Path(handlers.__path__[0]).glob("queue_*.py")

    assert {each.subscriber for each in JOB_TYPES} == {
        entry.stem.removeprefix("queue_").replace("_", "-") for entry in entries
    }


def test_a_fresh_event_has_every_job_queued(store: FakeStore) -> None:
    seen = document(get(store))

    assert seen == {
        "id": "order-1001-paid",
        "type": "order.paid",
        "time": "2026-11-30T12:00:00.000Z",
        "state": "queued",
        "jobs": [{"id": f"{EVENT.id}:{name}", "state": "queued", "attempts": 0} for name in SUBSCRIBERS],
    }


def test_it_costs_one_read_of_the_event_the_rows_and_the_markers(store: FakeStore) -> None:
    get(store)

    rows = [Key("jobs", EVENT.id, name) for name in SUBSCRIBERS]
    [(operation, keys)] = store.calls
    assert operation == "read"
    assert set(keys) == {ORDER_PAID.row_key(EVENT.id), PICK, SALE, *rows}


def test_one_job_is_shown_by_its_own_id(store: FakeStore) -> None:
    row(store, "receipts", "completed", result={"messageId": "e_1a2b"})

    seen = document(get(store, f"{EVENT.id}:receipts"))

    assert seen == {
        "id": "order-1001-paid:receipts",
        "state": "completed",
        "attempts": 1,
        "result": {"messageId": "e_1a2b"},
    }
    assert set(store.calls[-1][1]) == {ORDER_PAID.row_key(EVENT.id), Key("jobs", EVENT.id, "receipts")}


@pytest.mark.parametrize("result", [{}, {"points": 0}, {"paid": False}, {"note": None}, {"lines": []}])
def test_an_empty_looking_result_is_shown_as_it_is(store: FakeStore, result: Any) -> None:  # IDEM-8
    row(store, "loyalty", "completed", result=result)

    assert document(get(store, f"{EVENT.id}:loyalty"))["result"] == result


@pytest.mark.parametrize("says", [None, "retrying", "dead"])
def test_a_marker_completes_its_job_whatever_the_row_says(store: FakeStore, says: str | None) -> None:
    if says:
        row(store, "warehouse", says, attempts=2, failures=[])
    store.put(PICK, job={"id": f"{EVENT.id}:warehouse", "result": {"pick": "p"}, "endedAt": 1})

    seen = document(get(store, f"{EVENT.id}:warehouse"))

    assert (seen["state"], seen["result"]) == ("completed", {"pick": "p"})
    assert "error" not in seen


OVERALL = [
    ("queued", ["queued", "queued"]),
    ("running", ["queued", "completed"]),
    ("running", ["queued", "dead"]),
    ("running", ["running", "queued"]),
    ("running", ["running"]),
    ("retrying", ["retrying", "completed"]),
    ("retrying", ["retrying", "queued", "running"]),
    ("retrying", ["retrying", "dead"]),
    ("retrying", ["retrying", "cancelling"]),
    ("running", ["queued", "cancelling"]),
    ("cancelling", ["cancelling", "completed"]),
    ("completed", ["completed", "completed"]),
    ("completed", ["completed", "cancelled"]),
    ("completed", ["completed", "expired"]),
    ("completed", ["cancelled", "expired"]),
    ("dead", ["completed", "dead"]),
    ("dead", ["cancelled", "dead", "expired"]),
    ("cancelled", ["cancelled", "cancelled"]),
    ("expired", ["expired"]),
]


@pytest.mark.parametrize(("state", "jobs"), OVERALL, ids=lambda value: str(value))
def test_the_state_of_an_event_follows_from_its_jobs(state: str, jobs: list[str]) -> None:
    assert overall(jobs) == overall(list(reversed(jobs))) == state


@pytest.mark.parametrize(
    ("states", "seconds"),
    [(["completed"], "1"), (["retrying"], "5"), (["completed"] * 5, None), (["dead"] * 5, None)],
)
def test_a_client_is_told_when_to_look_again_while_it_is_open(
    store: FakeStore, states: list[str], seconds: str | None
) -> None:
    for subscriber, state in zip(SUBSCRIBERS, states, strict=False):
        row(store, subscriber, state)

    assert get(store).headers.get("Retry-After") == seconds


FAILED = {"at": 1, "attempt": 1, "where": "smtp.py:7 send"}


@pytest.mark.parametrize(
    ("state", "failure", "words"),
    [
        pytest.param(
            "dead",
            {"error": "Permanent", "message": "the order's e-mail is not an e-mail address"},
            "It cannot succeed as it is: the order's e-mail is not an e-mail address.",
            id="in-the-authors-words",
        ),
        pytest.param(
            "dead",
            {"error": "KeyError", "message": "'secret'"},
            "It failed 4 times and was set aside. It can be tried again when the cause is mended.",
            id="a-bug",
        ),
        pytest.param(
            "retrying",
            {"error": "Transient", "message": "the database answered ThrottlingException"},
            "Attempt 4 failed for a reason that may pass. It will be tried again.",
            id="passing",
        ),
    ],
)
def test_a_late_job_says_why_without_the_inside(
    store: FakeStore, state: str, failure: dict[str, str], words: str
) -> None:
    row(store, "receipts", state, attempts=4, failures=[{**FAILED, **failure}])

    seen = document(get(store, f"{EVENT.id}:receipts"))

    assert seen["error"] == words
    assert seen["attempts"] == 4
    assert set(seen) == {"id", "state", "attempts", "error", "failures"}
    assert "secret" not in json.dumps(seen)
    assert "smtp.py" not in json.dumps(seen)


REASONS = [
    ("Permanent", "The order's e-mail is not an e-mail address."),
    ("ProviderError", "The provider answered with status 503."),
    ("Unreadable", "The event could not be read."),
    ("NeverReported", "It was begun again and again, and no run came to its end."),
    ("CutOff", "A call was cut off, so nobody here knows whether the provider has acted."),
    ("Transient", "Something that it needs was busy or out of reach."),
    ("KeyError", "It failed for a reason that only the operator can see."),
]


@pytest.mark.parametrize(("error", "reason"), REASONS)
def test_every_attempt_is_told_with_its_time_and_a_safe_reason(
    store: FakeStore, error: str, reason: str
) -> None:
    at_ms = int(NOW.timestamp() * 1000)
    message = "the order's e-mail is not an e-mail address"
    entry = {"at": at_ms, "attempt": 2, "error": error, "message": message, "answer": 503, "where": "x.py:7"}
    row(store, "receipts", "dead", attempts=2, failures=[{**entry, "attempt": 1}, entry])

    seen = document(get(store, f"{EVENT.id}:receipts"))

    at = "2026-11-30T12:00:00.000Z"
    assert seen["failures"] == [{"at": at, "attempt": attempt, "reason": reason} for attempt in (1, 2)]


def test_a_job_that_is_to_be_cancelled_says_so_until_it_has_ended(store: FakeStore) -> None:
    for state in (None, "retrying", "running"):
        row(store, "receipts", state or "", cancelling=1)
        if state is None:
            del store.items[Key("jobs", EVENT.id, "receipts")]["state"]
        status = get(store, f"{EVENT.id}:receipts")
        assert (document(status)["state"], status.headers["Retry-After"]) == ("cancelling", "5")

    row(store, "receipts", "dead", cancelling=1)
    assert document(get(store, f"{EVENT.id}:receipts"))["state"] == "dead"


def test_a_job_that_was_taken_back_says_why(store: FakeStore) -> None:
    row(store, "receipts", "cancelled", why="the campaign was stopped", failures=[FAILED])

    shown = document(get(store, f"{EVENT.id}:receipts"))

    assert shown["error"] == "It was taken back: the campaign was stopped."
    assert len(shown["failures"]) == 1


def test_a_job_reopened_or_cut_off_says_that_it_is_tried_again(store: FakeStore) -> None:
    row(store, "receipts", "retrying", attempts=0, failures=[FAILED])

    assert "tried again" in document(get(store, f"{EVENT.id}:receipts"))["error"]


def test_a_job_that_was_only_given_back_is_still_queued(store: FakeStore) -> None:
    store.put(Key("jobs", EVENT.id, "receipts"), owner="alice", received=1, attempts=0)

    assert document(get(store, f"{EVENT.id}:receipts"))["state"] == "queued"


# ---- who may see it ----


@pytest.mark.parametrize(
    "asked",
    [
        "order-1002-paid",
        "order-1002-paid:receipts",
        "order-1001-paid:nobody",
        "order-1001-paid:",
        "order-1001-paid:receipts:more",
        "order-1001-shipped",
        "order--paid",
        "order-paid",
        "orderpaid",
        "order-1001",
        "",
        ":",
        "\x00",
        "order-é-paid",
        f"order-{'1' * 2_100}-paid",
    ],
)
def test_unknown_ids_and_other_callers_get_the_same_404(store: FakeStore, asked: str) -> None:
    unknown = get(store, asked)
    not_mine = get(store, EVENT.id, caller="bola")
    job_not_mine = get(store, f"{EVENT.id}:receipts", caller="bola")

    assert unknown.status == 404
    assert unknown == not_mine == job_not_mine


def test_an_event_row_that_has_expired_leaves_its_jobs_to_their_owner(store: FakeStore) -> None:
    row(store, "receipts", "completed", result={})
    del store.items[ORDER_PAID.row_key(EVENT.id)]

    seen = document(get(store))

    assert [job["id"] for job in seen["jobs"]] == [f"{EVENT.id}:receipts"]
    assert get(store, caller="bola").status == 404


# ---- subscribers that came later ----


def types_since(moment: Any) -> list[JobType[Any]]:
    return [replace(each, since=moment) if each.subscriber == "loyalty" else each for each in JOB_TYPES]


def test_an_event_does_not_wait_for_a_subscriber_that_is_younger(store: FakeStore) -> None:
    younger = types_since(NOW + timedelta(milliseconds=1))

    names = [job["id"] for job in document(get(store, types=younger))["jobs"]]

    assert names == [f"{EVENT.id}:{name}" for name in ("invoices", "receipts", "sales", "warehouse")]
    assert get(store, f"{EVENT.id}:loyalty", types=younger).status == 404
    assert len(document(get(store, types=types_since(NOW)))["jobs"]) == 5


def test_a_younger_subscriber_that_was_fed_the_event_all_the_same_is_shown(store: FakeStore) -> None:
    row(store, "loyalty", "completed", result={"points": 204})

    younger = types_since(NOW + timedelta(days=1))

    assert document(get(store, f"{EVENT.id}:loyalty", types=younger))["result"] == {"points": 204}


# ---- caching ----


def test_an_unchanged_answer_is_304(store: FakeStore) -> None:
    first = get(store)

    for named in (first.headers["ETag"], f'"x", W/{first.headers["ETag"]}', "*"):
        again = get(store, headers={"If-None-Match": named})
        assert (again.status, again.body) == (304, "")
        assert again.headers["ETag"] == first.headers["ETag"]
        assert again.headers["Cache-Control"] == "private, no-cache"
        assert again.headers["Retry-After"] == "1"


def test_a_changed_answer_has_another_etag(store: FakeStore) -> None:
    first = get(store)
    row(store, "receipts", "completed", result={})

    again = get(store, headers={"If-None-Match": first.headers["ETag"]})

    assert again.status == 200
    assert again.headers["ETag"] != first.headers["ETag"]
