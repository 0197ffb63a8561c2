import json
from datetime import UTC, datetime, timedelta, timezone

import pytest

from handlers.postroom.errors import NewerVersion, Unreadable
from handlers.postroom.events import EventType, read_envelope
from handlers.postroom.storage import Key

from .conftest import THING_DONE, THING_DONE_3, ThingDone, ThingDone3, body_of, thing


def test_what_is_published_reads_back_the_same() -> None:
    assert THING_DONE.parse(read_envelope(thing().to_json())) == thing()


def test_an_events_id_follows_from_its_aggregate_so_that_repeats_collapse() -> None:
    assert thing(1001).id == "thing-1001-done"
    assert THING_DONE.row_key("thing-1001-done") == Key("shop", "thing-1001", "entity")


def test_an_event_with_a_row_of_its_own_lies_beside_its_entity() -> None:
    shipped = EventType("order.shipped", 1, ThingDone, born_with_entity=False)

    assert shipped.row_key("order-1001-shipped") == Key("shop", "order-1001", "event-shipped")


def test_times_are_published_in_utc_to_the_millisecond() -> None:
    lagos = timezone(timedelta(hours=1))
    event = THING_DONE.new(
        "thing-1",
        ThingDone(customer="c", amount=1),
        sequence=1,
        time=datetime(2026, 11, 30, 13, 0, 0, 123_456, tzinfo=lagos),
        owner="alice",
        trace="",
    )

    assert json.loads(event.to_json())["time"] == "2026-11-30T12:00:00.123Z"
    assert THING_DONE.parse(read_envelope(event.to_json())).time.tzinfo == UTC


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"id": ""}, "^id: "),
        ({"id": "with space"}, "^id: "),
        ({"version": "1"}, "^version: "),
        ({"version": True}, "^version: "),
        ({"sequence": 0}, "^sequence: "),
        ({"time": "yesterday"}, "^time: "),
        ({"time": "2026-11-30T12:00:00"}, "^time: "),
        ({"owner": ""}, "^owner: "),
        ({"data": []}, "^data: "),
    ],
)
def test_a_bad_envelope_names_the_field(changes: dict[str, object], reason: str) -> None:
    with pytest.raises(Unreadable, match=reason):
        read_envelope(body_of(thing(), **changes))


def test_members_that_a_newer_producer_added_are_ignored() -> None:
    assert THING_DONE.parse(read_envelope(body_of(thing(), colour="blue"))) == thing()


@pytest.mark.parametrize(
    ("version", "data"),
    [
        pytest.param(1, {"customer": "c1001", "amount": 2_042_500}, id="two-versions-ago"),
        pytest.param(2, {"customer": "c1001", "amount": 2_042_500, "currency": "NGN"}, id="one-version-ago"),
        pytest.param(3, {"customer": "c1001", "price": "2042500 NGN"}, id="today"),
    ],
)
def test_an_older_version_is_read_as_todays(version: int, data: dict[str, object]) -> None:
    event = THING_DONE_3.parse(read_envelope(body_of(thing(), version=version, data=data)))

    assert event.version == 3
    assert event.data == ThingDone3(customer="c1001", price="2042500 NGN")


def test_what_was_brought_up_is_validated_like_any_payload() -> None:
    with pytest.raises(Unreadable, match=r"^data\.customer: "):
        THING_DONE_3.parse(read_envelope(body_of(thing(), version=2, data={"amount": 1, "currency": "NGN"})))


def test_a_newer_version_may_pass_and_says_which_are_known() -> None:
    with pytest.raises(NewerVersion, match=r"^version 4 of thing\.done is newer .*\(known: 1 to 3\)$"):
        THING_DONE_3.parse(read_envelope(body_of(thing(), version=4)))


def test_an_older_version_that_nothing_leads_from_stays_unreadable() -> None:
    second = EventType("thing.done", 2, ThingDone)

    with pytest.raises(Unreadable, match=r"^version 1 of thing\.done is too old .*\(known: 2\)$"):
        second.parse(read_envelope(thing().to_json()))


@pytest.mark.parametrize("versions", [[1], [2, 3], [0, 1, 2], [1, 2, 3]])
def test_upcasts_with_a_gap_are_refused_when_the_type_is_declared(versions: list[int]) -> None:
    with pytest.raises(ValueError, match="one by one"):
        EventType("thing.done", 3, ThingDone, upcasts=dict.fromkeys(versions, dict))
