"""What of each item is personal, and what stays of it."""

from typing import Any

import pytest

from handlers.postroom.errors import Withdrawn
from handlers.postroom.storage import Delete, Key, Update
from handlers.shop import erasure
from handlers.shop.audiences import Audience, recipient_sort_key
from handlers.shop.customers import Customer
from handlers.shop.orders import Order
from handlers.shop.persons import of_a_person
from handlers.shop.reminders import Reminder

NOW_MS = 1_796_040_000_000
ORDER: dict[str, Any] = {
    "pk": "order-1001",
    "sk": "entity",
    "owner": "ada",
    "email": "ada@example.com",
    "note": "ring twice",
    "lines": [],
    "amount": 100,
    "currency": "NGN",
    "bornAt": NOW_MS,
    "fingerprint": "abc",
    "answer": "{}",
    "chargeId": "ch_1",
}


def after(item: dict[str, Any]) -> dict[str, Any]:
    """The item when its erasing has been written."""
    write = erasure.erased(item, NOW_MS)
    assert isinstance(write, Update)
    return {**{name: value for name, value in item.items() if name not in write.remove}, **write.set}


def test_an_order_keeps_what_was_paid_and_what_repeats_are_known_by() -> None:
    left = after(ORDER)

    assert ORDER.keys() - left.keys() == {"email", "note"}
    assert left["erasedAt"] == NOW_MS
    assert erasure.erased(left, NOW_MS) is None


def test_what_comes_back_into_an_erased_order_goes_again() -> None:
    again = erasure.erased({**after(ORDER), "phone": "+2348012345678"}, NOW_MS)

    assert again is not None
    assert again.remove == ("phone",)


@pytest.mark.parametrize(
    "item",
    [
        {"pk": "account-1", "sk": "entity", "owner": "ada", "balance": 5},
        {"pk": "order-1", "sk": "request-1", "owner": "ada", "answer": "{}"},
        {"pk": "order-1", "sk": "event-shipped", "owner": "ada", "event": "{}"},
        {"pk": "reset-1", "sk": "entity", "owner": "ada", "tokenHash": "x"},
        {"pk": "delivery-1", "sk": "event-due", "owner": "ada"},
    ],
    ids=lambda item: f"{item['pk']}/{item['sk']}",
)
def test_ledgers_markers_and_events_are_left_alone(item: dict[str, Any]) -> None:
    assert erasure.erased(item, NOW_MS) is None


@pytest.mark.parametrize("mark", ["sent", "cancelledAt"])
def test_a_reminder_that_is_done_is_not_cancelled_once_more(mark: str) -> None:
    reminder = {
        "pk": "reminder-1",
        "sk": "entity",
        "owner": "ada",
        "email": "a",
        "text": "b",
        "dueAt": NOW_MS,
    }

    assert "cancelledAt" in after(reminder)
    assert after({**reminder, mark: 1}).get("cancelledAt") in (None, 1)
    assert Reminder.from_item(after(reminder)).state == "cancelled"


def test_a_campaign_stops_and_forgets_its_words() -> None:
    left = after(
        {
            "pk": "campaign-1",
            "sk": "entity",
            "owner": "ada",
            "subject": "Hi",
            "text": "Dear {name}",
            "last": 3,
        }
    )

    assert (left["subject"], left["text"], left["stoppedAt"]) == ("", "", NOW_MS)
    assert erasure.erased(left, NOW_MS) is None


def test_nobody_is_written_to_any_more() -> None:
    order = Order.from_item(after(ORDER))

    assert (order.email, order.amount) == ("", 100)
    with pytest.raises(Withdrawn, match="personal data was erased"):
        _ = order.of_a_person
    with pytest.raises(Withdrawn):
        Customer.from_item({"pk": "customer-1", "erasedAt": NOW_MS})
    with pytest.raises(Withdrawn):
        of_a_person({"erasedAt": NOW_MS})
    assert of_a_person(ORDER) is ORDER


def test_rows_leave_in_parts_and_the_head_counts_so_many_fewer() -> None:
    audience = Audience("ada", "spring")
    rows = [{"pk": audience.partition, "sk": recipient_sort_key(n)} for n in range(1, 61)]
    other = {"pk": Audience("bola", "spring").partition, "sk": recipient_sort_key(9)}

    parts = erasure.left([*rows, other])

    heads = [part[0] for part in parts]
    assert [head.add for head in heads if isinstance(head, Update)] == [
        {"recipients": -50},
        {"recipients": -10},
        {"recipients": -1},
    ]
    assert sum(isinstance(write, Delete) for part in parts for write in part) == 61
    assert all(len(part) <= 100 for part in parts)


def test_a_row_is_hers_by_its_list_or_by_its_address() -> None:
    own = {"pk": Audience("ada", "x").partition, "email": "z@example.com"}
    named = {"pk": Audience("bola", "x").partition, "email": "Ada@Example.com"}
    other = {"pk": Audience("bola", "x").partition, "email": "zoe@example.com"}

    hers = [erasure.is_of(row, "ada", frozenset({"ada@example.com"})) for row in (own, named, other)]

    assert hers == [True, True, False]


def test_a_job_keeps_its_outcome_and_loses_every_word() -> None:
    row = {
        "pk": "order-1-paid",
        "sk": "receipts",
        "state": "dead",
        "attempts": 3,
        "expires": 7,
        "result": {"messageId": "<a@b>"},
        "failures": [{"at": 1, "attempt": 1, "error": "Permanent", "message": "no such person"}],
        "note": {"at": 1, "by": "olu", "text": "called Ada"},
    }

    write = erasure.forgotten(row)

    assert write is not None
    assert write.key == Key("jobs", "order-1-paid", "receipts")
    assert write.set == {
        "result": {"erased": True},
        "failures": [{"at": 1, "attempt": 1, "error": "Permanent", "message": ""}],
        "note": {"at": 1, "by": "olu", "text": ""},
    }
    assert erasure.forgotten({**row, **write.set}) is None
    assert erasure.forgotten({"pk": "a", "sk": "b", "state": "completed", "expires": 7}) is None
