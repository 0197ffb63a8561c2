"""GET /jobs?state=…: the caller's own troubles, in pages, from an index and a consistent read."""

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from pydantic import BaseModel

from handlers.postroom.discovery import job_types
from handlers.postroom.events import EventType
from handlers.postroom.http import Answer, answer
from handlers.postroom.job_lists import JobLists, Page, Place
from handlers.postroom.jobs import Commit, Job, commit_job
from handlers.postroom.storage import Key
from tests.fakes import FakeStore
from tests.unit.gateway import NOW, fields_of, gateway_event

AT_MS = int(NOW.timestamp() * 1000)


class Packed(BaseModel):
    boxes: int


@commit_job(
    "labels", on=EventType("order.packed", 1, Packed), marker=lambda _id: Key("shop", "order-1", "label")
)
def print_label(job: Job[Packed]) -> Commit:
    return Commit([], result={"boxes": job.data.boxes})


@dataclass
class FakeIndex:
    """Partitions as the index would hold them, newest first; it may lag behind the store."""

    partitions: dict[str, list[Place]] = field(default_factory=dict)
    asked: list[tuple[str, int, Place | None]] = field(default_factory=list)

    def page(self, owner_and_state: str, limit: int, after: Place | None) -> Page:
        self.asked.append((owner_and_state, limit, after))
        places = self.partitions.get(owner_and_state, [])
        start = places.index(after) + 1 if after else 0
        page: Sequence[Place] = places[start : start + limit]
        return Page(page, page[-1] if start + limit < len(places) else None)


@dataclass
class Lists:
    store: FakeStore = field(default_factory=FakeStore)
    index: FakeIndex = field(default_factory=FakeIndex)

    def trouble(
        self, number: int, state: str = "dead", owner: str = "alice", name: str = "receipts"
    ) -> Place:
        place = Place(AT_MS + number, f"order-{number}-paid", name)
        listed = f"{state}#{owner}"
        self.index.partitions.setdefault(listed, []).insert(0, place)
        row = {"state": state, "owner": owner, "open": state, "ownedOpen": listed, "attempts": 4}
        self.store.put(Key("jobs", place.event_id, name), **row)
        return place

    def get(self, caller: str = "alice", **query: str) -> Answer:
        respond = JobLists(self.index, self.store, [*job_types("handlers"), print_label])
        return answer(respond, gateway_event("", caller=caller, method="GET", query=query or None))

    def document(self, **query: str) -> dict[str, Any]:
        listed = self.get(**query)
        assert listed.status == 200, listed.body
        value: dict[str, Any] = json.loads(listed.body)
        return value


@pytest.fixture
def lists() -> Lists:
    return Lists()


def ids(document: dict[str, Any]) -> list[str]:
    return [each["id"] for each in document["jobs"]]


def test_the_callers_dead_jobs_are_told_with_why_and_since_when(lists: Lists) -> None:
    lists.trouble(1)

    document = lists.document(state="dead")

    [job] = document["jobs"]
    assert (job["id"], job["state"], job["attempts"]) == ("order-1-paid:receipts", "dead", 4)
    assert "4 times" in job["error"]
    assert job["since"] == "2026-11-30T12:00:00.001Z"
    assert document["state"] == "dead"
    assert "next" not in document


def test_nobody_else_is_shown_them(lists: Lists) -> None:
    lists.trouble(1)
    lists.trouble(2, owner="bola")

    assert ids(json.loads(lists.get("bola", state="dead").body)) == ["order-2-paid:receipts"]
    assert ids(lists.document(state="dead")) == ["order-1-paid:receipts"]


def test_a_caller_cannot_name_anothers_partition(lists: Lists) -> None:
    lists.trouble(1, owner="bola")

    assert ids(json.loads(lists.get("dead#bola", state="dead").body)) == []
    assert lists.index.asked[0][0] == "dead#dead#bola"


def test_the_pages_hold_every_job_once_newest_first(lists: Lists) -> None:
    for number in range(7):
        lists.trouble(number)
    seen: list[str] = []
    query = {"state": "dead", "limit": "3"}

    for _ in range(3):
        document = lists.document(**query)
        seen += ids(document)
        query["cursor"] = document.get("next", "")

    assert seen == [f"order-{number}-paid:receipts" for number in reversed(range(7))]
    assert query["cursor"] == ""


def test_a_cursor_of_anothers_list_shows_nothing_of_it(lists: Lists) -> None:
    for number in range(3):
        lists.trouble(number, owner="bola")
        lists.trouble(number + 10)
    cursor = json.loads(lists.get("bola", state="dead", limit="1").body)["next"]

    lists.index.asked.clear()
    lists.index.partitions["dead#alice"].append(Place(AT_MS + 2, "order-2-paid", "receipts"))
    stolen = lists.get("alice", state="dead", cursor=cursor)

    assert lists.index.asked[0][0] == "dead#alice"
    assert "bola" not in stolen.body
    assert ids(json.loads(stolen.body)) == []


def test_the_index_may_lag_but_what_is_said_does_not(lists: Lists) -> None:
    mended, vanished, _ = (lists.trouble(number) for number in range(3))
    done = {"state": "completed", "owner": "alice", "result": {}}
    lists.store.put(Key("jobs", mended.event_id, "receipts"), **done)
    del lists.store.items[Key("jobs", vanished.event_id, "receipts")]

    assert ids(lists.document(state="dead")) == ["order-2-paid:receipts"]


def test_a_job_that_its_marker_has_completed_is_not_listed(lists: Lists) -> None:
    lists.trouble(1, state="retrying", name="labels")
    lists.trouble(2, state="retrying", name="receipts")
    lists.store.put(Key("shop", "order-1", "label"), job={"result": {}})

    assert ids(lists.document(state="retrying")) == ["order-2-paid:receipts"]


def test_a_subscriber_that_is_gone_leaves_its_jobs_listed(lists: Lists) -> None:
    lists.trouble(1, name="fax")

    assert ids(lists.document(state="dead")) == ["order-1-paid:fax"]


def test_an_empty_list_costs_no_read(lists: Lists) -> None:
    assert lists.document(state="retrying") == {"state": "retrying", "jobs": []}

    assert lists.store.calls == []
    assert lists.index.asked == [("retrying#alice", 20, None)]


def cursor_of(value: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


@pytest.mark.parametrize(
    ("query", "field"),
    [
        pytest.param({}, "state", id="no-state"),
        pytest.param({"state": "completed"}, "state", id="state-that-is-not-listed"),
        pytest.param({"state": "dead", "limit": "0"}, "limit", id="zero"),
        pytest.param({"state": "dead", "limit": "101"}, "limit", id="too-many"),
        pytest.param({"state": "dead", "limit": "-1"}, "limit", id="negative"),
        pytest.param({"state": "dead", "limit": "٣"}, "limit", id="digit-of-another-script"),
        pytest.param({"state": "dead", "limit": "1" * 5_000}, "limit", id="JSON-2-many-digits"),
        pytest.param({"state": "dead", "cursor": ""}, "cursor", id="empty-cursor"),
        pytest.param({"state": "dead", "cursor": "&"}, "cursor", id="no-base64"),
        pytest.param({"state": "dead", "cursor": "é"}, "cursor", id="no-ascii"),
        pytest.param({"state": "dead", "cursor": "A" * 1_001}, "cursor", id="long-cursor"),
        pytest.param({"state": "dead", "cursor": cursor_of({})}, "cursor", id="no-list"),
        pytest.param({"state": "dead", "cursor": cursor_of([1, "", "s"])}, "cursor", id="empty-key"),
        pytest.param({"state": "dead", "cursor": cursor_of([True, "e", "s"])}, "cursor", id="bool-time"),
        pytest.param({"state": "dead", "cursor": cursor_of(["1", "e", "s"])}, "cursor", id="text-time"),
        pytest.param({"state": "dead", "cursor": cursor_of([10**16, "e", "s"])}, "cursor", id="far-future"),
    ],
)
def test_a_bad_query_is_400_and_names_its_field(lists: Lists, query: dict[str, str], field: str) -> None:
    refusal = lists.get(**query)

    assert refusal.status == 400
    assert fields_of(refusal) == [field]
    assert lists.index.asked == []
