"""/webhooks: whose they are, what is shown once, and what a repeated request gets."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from handlers.postroom.errors import Transient
from handlers.postroom.http import Answer, answer
from handlers.postroom.storage import Key
from handlers.postroom.webhooks.api import MAX_WEBHOOKS, WebhooksApi
from handlers.postroom.webhooks.registry import OVERLAP_SECONDS, registry_key, webhooks_in
from handlers.postroom.webhooks.signing import secret_of
from tests.fakes import FakeStore, losing_the_answer, meanwhile, sending_twice
from tests.unit.gateway import NOW, gateway_event, problem_of

URL = "https://hooks.example.com/ada"


@dataclass
class Desk:
    """`/webhooks` over a store in memory."""

    store: FakeStore = field(default_factory=FakeStore)
    now: float = NOW.timestamp()
    made: Iterator[int] = field(default_factory=lambda: iter(range(100)))

    def ask(
        self, route: str, body: Any = None, *, hook: str = "", key: str = "key-1", caller: str = "alice"
    ) -> Answer:
        headers: Mapping[str, str] = {"content-type": "application/json", "idempotency-key": key}
        path = {"id": hook} if hook else None
        event = gateway_event(body or {}, caller=caller, headers=headers, path_parameters=path)
        api = WebhooksApi(self.store, lambda: self.now, lambda: secret_of(bytes([next(self.made)] * 32)))
        return answer(api, {**event, "routeKey": route})

    def register(self, url: Any = URL, **rest: Any) -> Answer:
        return self.ask("POST /webhooks", {"url": url}, **rest)

    def listed(self, caller: str = "alice") -> list[dict[str, Any]]:
        return list(_json(self.ask("GET /webhooks", caller=caller))["webhooks"])


def _json(answered: Answer) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(answered.body)
    return value


@pytest.fixture
def desk() -> Desk:
    return Desk()


def test_a_registration_shows_the_secret_and_where_the_webhook_is(desk: Desk) -> None:
    made = desk.register()

    told = _json(made)
    assert made.status == 201
    assert made.headers["Location"] == f"/webhooks/{told['id']}"
    assert made.headers["Cache-Control"] == "no-store"
    assert told["secret"].startswith("whsec_")
    assert {name: told[name] for name in ("url", "createdAt")} == {
        "url": URL,
        "createdAt": "2026-11-30T12:00:00.000Z",
    }


def test_no_other_answer_shows_a_secret(desk: Desk) -> None:
    told = _json(desk.register())

    shown = [desk.ask("GET /webhooks"), desk.ask("GET /webhooks/{id}", hook=told["id"])]

    assert [each.status for each in shown] == [200, 200]
    assert not any("whsec_" in each.body or "secret" in each.body for each in shown)


def test_a_repeat_gets_the_same_bytes_and_makes_nothing(desk: Desk) -> None:
    first, again = desk.register(), desk.register()

    assert (again.status, again.body) == (201, first.body)
    assert again.headers["Idempotency-Replayed"] == "true"
    assert len(desk.listed()) == 1


@pytest.mark.parametrize("fault", [losing_the_answer(Transient("gone")), sending_twice])
def test_a_lost_answer_makes_no_second_webhook(desk: Desk, fault: Any) -> None:
    desk.store.faults.on("write", fault)

    answers = [desk.register(), desk.register()]

    assert answers[-1].status == 201
    assert len(desk.listed()) == 1
    assert len(webhooks_in(desk.store.items[registry_key("alice")])[0].secrets) == 1


def test_the_same_key_with_another_url_is_refused(desk: Desk) -> None:
    desk.register()

    assert problem_of(desk.register("https://other.example.com/"))["code"] == "idempotency_key_reused"


@pytest.mark.parametrize(
    "url", ["http://hooks.example.com/", "https://10.0.0.1/", "https://localhost/", 5, None]
)
def test_a_url_that_nothing_may_be_sent_to_is_refused(desk: Desk, url: Any) -> None:
    refused = desk.register(url)

    assert refused.status == 422
    assert [error["field"] for error in problem_of(refused)["errors"]] == ["url"]
    assert desk.store.items == {}


def test_a_key_is_needed(desk: Desk) -> None:
    assert desk.register(key="").status == 400


def test_a_caller_has_a_bounded_number_of_them_even_when_registering_at_once(desk: Desk) -> None:
    for number in range(MAX_WEBHOOKS - 1):
        assert desk.register(key=f"key-{number}").status == 201
    desk.store.faults.on("write", meanwhile(lambda: desk.register(key="rival")))

    assert problem_of(desk.register(key="late"))["code"] == "too_many_webhooks"
    assert len(desk.listed()) == MAX_WEBHOOKS


@pytest.mark.parametrize(
    "route",
    ["GET /webhooks/{id}", "DELETE /webhooks/{id}", "POST /webhooks/{id}/rotate", "POST /webhooks/{id}/ping"],
)
def test_anothers_webhook_and_none_at_all_get_the_same_404(desk: Desk, route: str) -> None:
    hook = _json(desk.register())["id"]

    others, unknown = (
        desk.ask(route, hook=hook, caller="bola"),
        desk.ask(route, hook="nothing", caller="bola"),
    )

    assert (others.status, others.body) == (404, unknown.body)
    assert desk.listed("bola") == []
    assert len(desk.listed()) == 1


def test_a_removed_webhook_is_gone_and_a_late_repeat_of_its_registration_revives_nothing(desk: Desk) -> None:
    hook = _json(desk.register())["id"]

    removals = [desk.ask("DELETE /webhooks/{id}", hook=hook) for _ in range(2)]

    assert [each.status for each in removals] == [204, 204]
    assert desk.listed() == []
    assert problem_of(desk.register())["code"] == "webhook_removed"


def test_that_a_webhook_was_removed_is_forgotten_after_a_day(desk: Desk) -> None:
    hook = _json(desk.register())["id"]
    desk.ask("DELETE /webhooks/{id}", hook=hook)

    desk.now += 24 * 3600 + 1
    desk.register(key="key-2")

    assert [name for name in desk.store.items[registry_key("alice")] if hook in name] == []


def test_a_rotated_secret_signs_beside_the_new_one_for_a_day(desk: Desk) -> None:
    told = _json(desk.register())

    rotated = desk.ask("POST /webhooks/{id}/rotate", hook=told["id"])

    new = _json(rotated)
    assert rotated.status == 200
    assert new["previousEndsAt"] == "2026-12-01T12:00:00.000Z"
    [hook] = webhooks_in(desk.store.items[registry_key("alice")])
    assert hook.secrets_at(desk.now) == [new["secret"], told["secret"]]
    assert hook.secrets_at(desk.now + OVERLAP_SECONDS - 1) == [new["secret"], told["secret"]]
    assert hook.secrets_at(desk.now + OVERLAP_SECONDS) == [new["secret"]]


def test_a_repeated_rotation_rotates_once(desk: Desk) -> None:
    hook = _json(desk.register())["id"]

    first, again = (desk.ask("POST /webhooks/{id}/rotate", hook=hook) for _ in range(2))

    assert (again.status, again.body) == (200, first.body)
    [kept] = webhooks_in(desk.store.items[registry_key("alice")])
    assert len(kept.secrets) == 2


def test_rotating_again_and_again_ends_no_overlap_early(desk: Desk) -> None:
    hook = _json(desk.register())["id"]

    answers = [desk.ask("POST /webhooks/{id}/rotate", hook=hook, key=f"key-{number}") for number in range(3)]

    assert [each.status for each in answers] == [200, 200, 409]


def test_after_a_rotation_a_repeated_registration_shows_no_old_secret(desk: Desk) -> None:
    told = _json(desk.register())
    desk.ask("POST /webhooks/{id}/rotate", hook=told["id"])

    assert "secret" not in _json(desk.register())


def test_a_ping_is_a_job_of_its_own_once_per_key(desk: Desk) -> None:
    hook = _json(desk.register())["id"]

    first, again = (desk.ask("POST /webhooks/{id}/ping", hook=hook) for _ in range(2))

    assert (first.status, again.body) == (202, first.body)
    job_id = _json(first)["jobId"]
    assert first.headers["Location"] == f"/jobs/{job_id}"
    item = desk.store.items[Key("shop", job_id.removesuffix("-due"), "event-due")]
    event = json.loads(item["event"])
    assert event["data"] == {"webhookId": hook, "kind": "webhook.ping", "subject": hook}
    assert "whsec_" not in item["event"]
    assert URL not in item["event"]
