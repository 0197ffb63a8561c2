"""From records of the tables' streams to messages for those who want to hear of them."""

import json
from typing import Any

import pytest

from handlers.postroom.aws.expressions import to_attributes
from handlers.postroom.errors import Transient
from handlers.postroom.webhooks.outcomes import Outcomes, StreamEnd, ended_of
from handlers.postroom.webhooks.registry import Secret, Webhook, kept, registry_key
from tests.fakes import FakeStore, failing

AT = 1_800_000_000_000
EVENT = "order-1001-paid"


def hook(name: str = "hook1", created_at: int = 1_799_999_000) -> dict[str, Any]:
    return kept(Webhook(name, "https://hooks.example.com/", "f", created_at, [Secret(name, "whsec_AA==")]))


def row(state: str = "completed", subscriber: str = "receipts", number: str = "1", **more: Any) -> Any:
    keys = {"pk": EVENT, "sk": subscriber}
    image = {**keys, "state": state, "owner": "ada", "endedAt": AT, **more}
    change = {"SequenceNumber": number, "Keys": to_attributes(keys), "NewImage": to_attributes(image)}
    return {"eventName": "MODIFY", "dynamodb": change}


def marker(**job: Any) -> Any:
    image = {"pk": "order-1001", "sk": "pick", "job": {"id": f"{EVENT}:warehouse", "result": {}, **job}}
    return {"eventName": "INSERT", "dynamodb": {"SequenceNumber": "1", "NewImage": to_attributes(image)}}


def ends(*raw: Any) -> list[StreamEnd]:
    return [end for each in raw if (end := ended_of(each))]


@pytest.fixture
def store() -> FakeStore:
    store = FakeStore()
    store.put(registry_key("ada"), version=1, **hook())
    return store


def messages(store: FakeStore) -> list[dict[str, Any]]:
    return [json.loads(item["event"])["data"] for item in store.items.values() if "event" in item]


@pytest.mark.parametrize("state", ["completed", "dead", "expired"])
def test_an_end_becomes_one_message_to_each_webhook_of_the_owner(store: FakeStore, state: str) -> None:
    store.items[registry_key("ada")] |= hook("hook2")

    assert Outcomes(store).tell(ends(row(state))) is None

    subject = f"{EVENT}:receipts"
    assert messages(store) == [
        {"webhookId": name, "kind": f"job.{state}", "subject": subject} for name in ("hook1", "hook2")
    ]


def test_an_effect_that_is_its_own_marker_tells_of_its_job(store: FakeStore) -> None:
    Outcomes(store).tell(ends(marker(owner="ada", endedAt=AT)))

    assert [each["subject"] for each in messages(store)] == [f"{EVENT}:warehouse"]


def test_the_same_end_seen_again_makes_no_second_message(store: FakeStore) -> None:
    Outcomes(store).tell(ends(row(), row(number="2", note="changed")))
    Outcomes(store).tell(ends(row()))

    assert len(messages(store)) == 1


def test_a_job_that_completes_in_its_row_and_by_its_marker_is_told_once(store: FakeStore) -> None:
    both = [row(subscriber="warehouse"), marker(owner="ada", endedAt=AT + 1)]

    Outcomes(store).tell(ends(*both))

    assert len(messages(store)) == 1


def test_a_job_that_dies_again_after_a_redrive_is_told_again(store: FakeStore) -> None:
    Outcomes(store).tell(
        ends(row("dead"), row("dead", endedAt=AT + 5_000), row("completed", endedAt=AT + 9_000))
    )

    assert [each["kind"] for each in messages(store)] == ["job.dead", "job.dead", "job.completed"]


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(row("retrying"), id="still-open"),
        pytest.param(row("cancelled"), id="cancelled"),
        pytest.param(row(subscriber="webhooks"), id="a-delivery-itself"),
        pytest.param(marker(), id="a-marker-without-owner"),
        pytest.param({"eventName": "REMOVE", "dynamodb": {"SequenceNumber": "1"}}, id="expiry"),
    ],
)
def test_what_is_no_end_is_no_news(raw: Any) -> None:
    assert ended_of(raw) is None


def test_for_an_owner_without_a_webhook_it_is_one_read_and_no_write() -> None:
    store = FakeStore()

    Outcomes(store).tell(ends(*(row(number=str(number)) for number in range(100))))

    assert store.calls == [("read", (registry_key("ada"),))]


def test_a_batch_without_ends_costs_nothing() -> None:
    store = FakeStore()

    assert Outcomes(store).tell([]) is None
    assert store.calls == []


def test_a_disabled_webhook_and_one_that_came_later_hear_nothing(store: FakeStore) -> None:
    store.items[registry_key("ada")] = {
        **hook(),
        "health-hook1": {"failingSince": 1, "disabledAt": 2, "reason": "x"},
        **hook("hook2", created_at=AT // 1000 + 1),
    }

    Outcomes(store).tell(ends(row()))

    assert messages(store) == []


def test_a_failed_write_rewinds_to_its_record_and_a_failed_read_to_the_first(store: FakeStore) -> None:
    store.faults.on("write", lambda perform: perform(), failing(Transient("busy")))
    two = ends(row(), row(subscriber="loyalty", number="2"))

    assert Outcomes(store).tell(two) == "2"

    store.faults.on("read", failing(Transient("busy")))
    assert Outcomes(store).tell(two) == "1"
    assert Outcomes(store).tell(two) is None
    assert len(messages(store)) == 2
