"""One attempt at a delivery: what is sent, what counts as done, and how a webhook's health follows."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import pytest

from handlers.postroom.errors import Explained, Permanent, Transient
from handlers.postroom.jobs import Job
from handlers.postroom.webhooks.messages import (
    DELIVERY_DUE,
    PING,
    SCHEDULE,
    DeliveryDue,
    birth_of,
)
from handlers.postroom.webhooks.registry import Registry, Secret, Webhook, kept, registry_key, webhook_in
from handlers.postroom.webhooks.sending import LASTING_SECONDS, Reply, Sender
from handlers.postroom.webhooks.signing import is_signed
from tests.fakes import FakeStore, failing

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC).timestamp()
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
OK, BROKEN = Reply(204), Reply(500)
HOOK = Webhook("hook1", "https://hooks.example.com/", "f", int(NOW), [Secret("hook1", SECRET)])


@dataclass
class Post:
    """A transport that notes what it is given, and replies as told."""

    reply: Reply | Exception = OK
    sent: list[tuple[str, Mapping[str, str], bytes]] = field(default_factory=list)

    def post(self, url: str, headers: Mapping[str, str], body: bytes) -> Reply:
        self.sent.append((url, headers, body))
        if isinstance(self.reply, Exception):
            raise self.reply
        return self.reply


@dataclass
class Desk:
    post: Post = field(default_factory=Post)
    store: FakeStore = field(default_factory=FakeStore)
    now: float = NOW

    def send(self, kind: str = "job.completed") -> Any:
        registry = Registry(self.store, lambda: self.now)
        item = self.store.items.get(registry_key("ada"))
        job = Job("delivery-1-due:webhooks", event(kind), 1, {"webhooks": item})
        return Sender(self.post, registry, lambda: self.now).send(job)

    def fail(self, reply: Reply | Exception = BROKEN, kind: str = "job.completed") -> Exception:
        self.post.reply = reply
        with pytest.raises((Explained, Permanent)) as failed:
            self.send(kind)
        return failed.value

    @property
    def hook(self) -> Webhook:
        hook = webhook_in(self.store.items[registry_key("ada")], "hook1")
        assert hook is not None
        return hook


def event(kind: str = "job.completed") -> Any:
    subject = "hook1" if kind == PING else "order-1001-paid:receipts"
    data = DeliveryDue(webhook_id="hook1", kind=kind, subject=subject)
    return birth_of("1", data, owner="ada", time=datetime.fromtimestamp(NOW, UTC), trace="").event


@pytest.fixture
def desk() -> Desk:
    desk = Desk()
    desk.store.put(registry_key("ada"), version=1, **kept(HOOK))
    return desk


def test_what_is_sent_is_signed_and_says_what_happened_when(desk: Desk) -> None:
    desk.now += 60

    assert desk.send() == {"status": 204}

    [(url, headers, body)] = desk.post.sent
    assert url == HOOK.url
    assert is_signed(SECRET, headers, body, desk.now)
    assert headers["webhook-timestamp"] == str(int(NOW + 60))
    assert json.loads(body) == {
        "type": "job.completed",
        "timestamp": "2026-11-30T12:00:00.000Z",
        "data": {"id": "order-1001-paid:receipts", "event": "order-1001-paid", "state": "completed"},
    }


def test_a_retry_has_the_same_id_and_body_and_a_time_of_its_own(desk: Desk) -> None:
    desk.fail()
    desk.now += 7_200
    desk.fail()

    (_, first, body), (_, second, again) = desk.post.sent
    assert (second["webhook-id"], again) == (first["webhook-id"], body)
    assert "." not in first["webhook-id"]
    assert int(second["webhook-timestamp"]) - int(first["webhook-timestamp"]) == 7_200


def test_during_a_rotation_both_secrets_sign(desk: Desk) -> None:
    new = Secret("r", "whsec_AAAA")
    ending = replace(HOOK.secrets[0], ends_at=int(NOW) + 60)
    desk.store.put(registry_key("ada"), **kept(replace(HOOK, secrets=[new, ending])))

    desk.send()
    desk.now += 60
    desk.send()

    (_, during, body), (_, after, _) = desk.post.sent
    assert is_signed(SECRET, during, body, NOW)
    assert is_signed("whsec_AAAA", during, body, NOW)
    assert len(after["webhook-signature"].split()) == 1
    assert is_signed("whsec_AAAA", after, body, desk.now)


@pytest.mark.parametrize("status", [199, 300, 302, 400, 401, 404, 408, 429, 500, 503])
def test_any_answer_but_a_2xx_is_tried_again(desk: Desk, status: int) -> None:
    error = desk.fail(Reply(status))

    assert isinstance(error, Explained)
    assert str(error) == f"the receiver answered with status {status}"


@pytest.mark.parametrize(("asked", "obeyed"), [(None, None), (120.0, 120.0), (10.0**9, 86_400.0)])
def test_retry_after_is_obeyed_up_to_a_day(desk: Desk, asked: float | None, obeyed: float | None) -> None:
    error = desk.fail(Reply(503, asked))

    assert isinstance(error, Explained)
    assert error.retry_after_seconds == obeyed


def test_gone_disables_the_webhook_at_once(desk: Desk) -> None:
    assert isinstance(desk.fail(Reply(410)), Permanent)

    assert desk.hook.state == "disabled"
    assert "410" in desk.hook.reason


def test_failures_for_three_days_disable_it_with_the_reason(desk: Desk) -> None:
    desk.fail()
    desk.now += LASTING_SECONDS - 1
    desk.fail()
    assert desk.hook.state == "failing"

    desk.now += 1
    desk.fail(Explained("the receiver took longer than 15 s"))

    assert desk.hook.reason == (
        "nothing could be delivered since 2026-11-30T12:00:00.000Z, "
        "lately because the receiver took longer than 15 s"
    )
    assert desk.hook.disabled_at == int(desk.now)


def test_one_success_between_begins_the_count_anew(desk: Desk) -> None:
    desk.fail()
    desk.post.reply = Reply(200)
    desk.send()
    assert desk.hook.state == "enabled"

    desk.now += LASTING_SECONDS
    desk.fail()

    assert desk.hook.state == "failing"


def test_to_a_disabled_webhook_nothing_goes_but_a_ping_which_enables_it(desk: Desk) -> None:
    desk.fail(Reply(410))
    desk.post.reply = Reply(204)

    with pytest.raises(Permanent, match="disabled"):
        desk.send()
    assert len(desk.post.sent) == 1

    desk.send(PING)
    assert desk.hook.state == "enabled"
    assert desk.send() == {"status": 204}


def test_a_failed_ping_says_nothing_about_the_webhook(desk: Desk) -> None:
    desk.fail(Reply(500), PING)

    assert desk.hook.state == "enabled"


def test_a_removed_webhook_is_sent_nothing(desk: Desk) -> None:
    desk.store.items.clear()

    assert desk.send() == {"dropped": "the webhook was removed"}
    assert desk.post.sent == []


def test_what_was_delivered_is_delivered_though_its_health_cannot_be_noted(desk: Desk) -> None:
    desk.fail()
    desk.post.reply = Reply(200)
    desk.store.faults.on("write", failing(Transient("busy")))

    assert desk.send() == {"status": 200}


def test_the_schedule_is_the_specifications_and_reaches_past_three_days() -> None:
    ceilings = [SCHEDULE.ceiling_ms(attempt) // 1000 for attempt in range(1, SCHEDULE.attempts)]

    assert ceilings == [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400]
    assert sum(ceilings) == 75 * 3600 + 35 * 60 + 5
    assert (SCHEDULE.wait_seconds(9, 0.0), SCHEDULE.wait_seconds(9, 1.0)) == (86_400, 95_040)


def test_no_secret_is_in_what_is_printed_of_a_webhook() -> None:
    assert "whsec_" not in repr(HOOK)
    assert DELIVERY_DUE.name == "delivery.due"
