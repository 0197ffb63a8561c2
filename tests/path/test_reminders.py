"""Reminders: minutes or months ahead, rung for by a delay or a schedule, sent once or cancelled."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.path.shop import OPENED, Shop

REMIND = {"email": "ada@example.com", "text": "Water the garden"}
TEN_MINUTES = 600
TEN_HOURS = 36_000


@pytest.fixture(autouse=True)
def quiet(shop: Shop) -> Any:
    """The schedules of every minute have no part in this, and ten hours hold many."""
    with shop.without(*shop.scheduled):
        yield


def set_reminder(shop: Shop, key: str = "key-1", **when: Any) -> str:
    answer = shop.post("/reminders", {**REMIND, **when}, key)
    assert answer.status == 202, answer.body
    return str(answer.json["jobId"]).removeprefix("reminder-").removesuffix("-set")


def listed(shop: Shop, query: str = "", caller: str = "ada") -> Any:
    answer = shop.stack.call("GET", f"/reminders{query}", subject=caller)
    assert answer.status == 200, answer.body
    return answer.json


def cancel(shop: Shop, reminder: str, caller: str = "ada") -> tuple[int, Any]:
    answer = shop.stack.call("DELETE", f"/reminders/{reminder}", subject=caller)
    return answer.status, answer.json


def schedules(shop: Shop) -> list[str]:
    return [name for _, name in shop.aws.scheduler.schedules if name.startswith("reminder-")]


def ring(shop: Shop, reminder: str) -> None:
    """Put a due reminder's message into its queue once more, as a repeated timer does."""
    due = datetime.fromtimestamp(OPENED + TEN_MINUTES, UTC)
    event = {
        "id": f"reminder-{reminder}-due",
        "type": "reminder.due",
        "version": 1,
        "aggregate": f"reminder-{reminder}",
        "sequence": 2,
        "time": due.isoformat(),
        "owner": "ada",
        "trace": "",
        "data": {"reminderId": reminder},
    }
    queue = shop.stack.ref("RemindersQueue")
    shop.client("sqs").send_message(QueueUrl=queue, MessageBody=json.dumps(event))


@pytest.mark.parametrize(
    ("seconds", "timer"),
    [
        pytest.param(TEN_MINUTES, "delay", id="ten-minutes"),
        pytest.param(900, "delay", id="a-quarter-of-an-hour"),
        pytest.param(901, "schedule", id="a-second-more"),
        pytest.param(TEN_HOURS, "schedule", id="ten-hours"),
    ],
)
def test_a_reminder_is_sent_when_it_is_due_and_not_before(shop: Shop, seconds: int, timer: str) -> None:
    reminder = set_reminder(shop, inSeconds=seconds)

    shop.run_for(seconds - 1)
    assert shop.mailer.mails == {}
    shop.run_for(2)

    assert [mail.text for mail in shop.mailer.mails.values()] == ["Water the garden\n"]
    job = shop.jobs(f"reminder-{reminder}-set")["reminder-timer"]
    assert job["result"] == {"timer": timer}
    assert listed(shop)["reminders"][0]["state"] == "sent"
    assert schedules(shop) == []


def test_a_time_with_an_offset_and_a_time_of_a_zone_are_the_same_instant(shop: Shop) -> None:
    set_reminder(shop, "one", at="2026-12-01T09:00:00+01:00")
    set_reminder(shop, "two", at="2026-12-01T09:00:00", timeZone="Africa/Lagos")

    assert {each["due"] for each in listed(shop)["reminders"]} == {"2026-12-01T08:00:00.000Z"}


@pytest.mark.parametrize(
    ("when", "field"),
    [
        pytest.param({}, "inSeconds", id="no-time"),
        pytest.param({"inSeconds": 5, "at": "2026-12-01T09:00:00Z"}, "inSeconds", id="two-times"),
        pytest.param({"inSeconds": 0}, "inSeconds", id="no-delay"),
        pytest.param({"inSeconds": 5, "timeZone": "UTC"}, "timeZone", id="zone-without-use"),
        pytest.param({"at": "2026-11-30T11:59:59Z"}, "at", id="past"),
        pytest.param({"at": "2028-01-01T00:00:00Z"}, "at", id="too-far"),
        pytest.param({"at": "tomorrow"}, "at", id="words"),
        pytest.param({"at": "2026-13-01T00:00:00Z"}, "at", id="no-such-month"),
        pytest.param({"at": "2026-12-01T09:00:00"}, "timeZone", id="which-zone"),
        pytest.param({"at": "2026-12-01T09:00:00Z", "timeZone": "UTC"}, "timeZone", id="zone-twice"),
        pytest.param({"at": "2026-12-01T09:00:00", "timeZone": "Mars/Base"}, "timeZone", id="no-zone"),
        pytest.param({"at": "2026-12-01T09:00:00", "timeZone": "../etc"}, "timeZone", id="a-path"),
        pytest.param({"at": "2027-03-28T02:30:00", "timeZone": "Europe/Berlin"}, "at", id="skipped-hour"),
    ],
)
def test_a_time_that_cannot_be_kept_is_refused_by_name(shop: Shop, when: dict[str, Any], field: str) -> None:
    answer = shop.post("/reminders", {**REMIND, **when})

    assert answer.status == 422
    assert [each["field"] for each in answer.json["errors"]] == [field]
    assert shop.shop_items() == []


def test_of_an_hour_that_comes_twice_the_first_is_meant(shop: Shop) -> None:
    set_reminder(shop, at="2027-10-31T02:30:00", timeZone="Europe/Berlin")

    assert listed(shop)["reminders"][0]["due"] == "2027-10-31T00:30:00.000Z"


@pytest.mark.parametrize("seconds", [TEN_MINUTES, TEN_HOURS])
def test_a_cancelled_reminder_is_not_sent(shop: Shop, seconds: int) -> None:
    reminder = set_reminder(shop, inSeconds=seconds)
    shop.run_for(60)

    assert cancel(shop, reminder) == (200, {"id": reminder, "state": "cancelled"})
    assert cancel(shop, reminder) == (200, {"id": reminder, "state": "cancelled"})
    assert schedules(shop) == []
    shop.run_for(seconds)

    assert shop.mailer.asked == []
    assert listed(shop)["reminders"][0]["state"] == "cancelled"


def test_cancelling_before_the_timer_is_set_leaves_no_timer(shop: Shop) -> None:
    reminder = set_reminder(shop, inSeconds=TEN_HOURS)
    cancel(shop, reminder)
    shop.settle()

    assert shop.jobs(f"reminder-{reminder}-set")["reminder-timer"]["result"] == {"timer": "none"}
    assert schedules(shop) == []


def test_a_schedule_that_could_not_be_deleted_rings_for_nobody(shop: Shop) -> None:
    reminder = set_reminder(shop, inSeconds=TEN_HOURS)
    shop.settle()
    kept = dict(shop.aws.scheduler.schedules)
    shop.aws.scheduler.schedules.clear()
    assert cancel(shop, reminder)[0] == 200
    shop.aws.scheduler.schedules.update(kept)
    shop.run_for(TEN_HOURS + 1)

    assert shop.mailer.asked == []
    assert shop.jobs(f"reminder-{reminder}-due")["reminders"]["result"] == {"sent": False}


def test_a_reminder_that_is_sent_cannot_be_cancelled(shop: Shop) -> None:
    reminder = set_reminder(shop, inSeconds=TEN_MINUTES)
    shop.run_for(TEN_MINUTES + 1)

    status, problem = cancel(shop, reminder)

    assert (status, problem["code"]) == (409, "already_sent")


def test_a_due_reminder_may_be_on_its_way(shop: Shop) -> None:
    reminder = set_reminder(shop, inSeconds=TEN_MINUTES)
    shop.settle()
    shop.clock.advance(TEN_MINUTES)

    assert cancel(shop, reminder) == (202, {"id": reminder, "state": "cancelling"})


def test_a_reminder_that_rings_three_times_is_sent_once(shop: Shop) -> None:
    reminder = set_reminder(shop, inSeconds=TEN_MINUTES)
    shop.run_for(TEN_MINUTES + 1)
    for _ in range(2):
        ring(shop, reminder)
        shop.settle()

    assert len(shop.mailer.sent) == 1
    assert shop.outcomes("reminders") == ["completed", "duplicate", "duplicate"]


def test_a_timer_that_died_before_it_could_say_so_makes_no_second_schedule(shop: Shop) -> None:
    reminder = set_reminder(shop, inSeconds=TEN_HOURS)
    shop.settle()
    row = {"pk": {"S": f"reminder-{reminder}-set"}, "sk": {"S": "reminder-timer"}}
    shop.client("dynamodb").delete_item(TableName=shop.stack.ref("JobsTable"), Key=row)
    (item,) = shop.shop_items()
    shop.publish(item["event"], kind="reminder.set")
    shop.settle()

    assert len(schedules(shop)) == 1
    shop.run_for(TEN_HOURS)
    assert len(shop.mailer.sent) == 1


def test_a_reminder_whose_timer_was_down_past_its_time_is_sent_at_once(shop: Shop) -> None:
    with shop.without("ReminderTimerFunction"):
        set_reminder(shop, inSeconds=TEN_MINUTES)
        shop.run_for(TEN_MINUTES * 2)
    shop.run_for(1)

    assert len(shop.mailer.sent) == 1


def test_a_reminder_that_is_a_day_late_expires(shop: Shop) -> None:
    reminder = set_reminder(shop, inSeconds=TEN_MINUTES)
    shop.settle()
    with shop.without("RemindersFunction"):
        shop.run_for(TEN_MINUTES + 24 * 3600 + 1)
    shop.settle()

    assert shop.jobs(f"reminder-{reminder}-due")["reminders"]["state"] == "expired"
    assert shop.mailer.asked == []


def test_pressing_again_sets_one_reminder(shop: Shop) -> None:
    first = shop.post("/reminders", {**REMIND, "inSeconds": 60})
    shop.clock.advance(30)
    again = shop.post("/reminders", {**REMIND, "inSeconds": 60})

    assert again.body == first.body
    assert [each["due"] for each in listed(shop)["reminders"]] == ["2026-11-30T12:01:00.000Z"]


def test_the_list_is_the_callers_own_in_the_order_of_time_and_in_pages(shop: Shop) -> None:
    ids = [set_reminder(shop, f"key-{hours}", inSeconds=hours * 3600) for hours in (3, 1, 2)]
    in_order = [ids[1], ids[2], ids[0]]

    first = listed(shop, "?limit=2")
    second = listed(shop, f"?limit=2&cursor={first['next']}")

    assert [each["id"] for each in first["reminders"] + second["reminders"]] == in_order
    assert listed(shop, caller="eve") == {"reminders": []}


@pytest.mark.parametrize("query", ["?limit=0", "?limit=101", "?limit=x", "?cursor=x", "?cursor=1-a"])
def test_a_query_that_no_list_has_given_out_is_refused(shop: Shop, query: str) -> None:
    assert shop.stack.call("GET", f"/reminders{query}").status == 400


def test_anothers_reminder_and_an_unknown_one_are_the_same_404(shop: Shop) -> None:
    mine = set_reminder(shop, inSeconds=60)

    answers = [cancel(shop, mine, "eve"), cancel(shop, "a" * 26), cancel(shop, "x")]

    assert [status for status, _ in answers] == [404] * 3
    assert answers[0] == answers[1] == answers[2]
    assert listed(shop)["reminders"][0]["state"] == "set"


def test_the_message_carries_no_text_and_no_address(shop: Shop) -> None:
    with shop.without("RemindersFunction"):
        set_reminder(shop, inSeconds=TEN_MINUTES)
        shop.run_for(TEN_MINUTES)
        bodies = [each.body for each in shop.aws.sqs.queue(shop.stack.ref("RemindersQueue")).messages]

    assert bodies
    assert not [each for each in bodies if "garden" in each or "example.com" in each]


def test_what_is_kept_of_it_expires_in_whole_seconds(shop: Shop) -> None:  # TIME-1
    set_reminder(shop, inSeconds=60)
    (item,) = shop.shop_items()

    due = datetime.fromtimestamp(OPENED, UTC) + timedelta(seconds=60)
    assert item["expires"] == int((due + timedelta(days=45)).timestamp())
