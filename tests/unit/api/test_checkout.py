"""POST /checkout: one order per caller and key, whatever is repeated, lost or raced."""

import json
import logging
from datetime import datetime
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict

from handlers.postroom.acceptance import Acceptance, Birth, Intent, Work
from handlers.postroom.bodies import Body
from handlers.postroom.errors import ConditionFailed, ProviderError, Transient
from handlers.postroom.events import EventType, read_envelope
from handlers.postroom.http import Answer, answer
from handlers.postroom.storage import Key
from handlers.shop.orders import ORDER_PAID
from handlers.shop.ports import ChargeInProgress
from tests.fakes import FakeStore, failing, losing_the_answer, meanwhile, sending_twice
from tests.unit.gateway import NOW, PLAIN_HEADERS, fields_of, gateway_event, problem_of

from .conftest import CART, Counter

OTHER_CART = {**CART, "lines": [{"sku": "zobo-tea", "quantity": 1}]}


def job_id(accepted: Answer) -> str:
    assert accepted.status == 202, accepted.body
    return str(json.loads(accepted.body)["jobId"])


def test_an_order_is_answered_with_202_and_where_to_look(counter: Counter) -> None:
    accepted = counter.post()

    event_id = job_id(accepted)
    assert accepted.body == f'{{"status":"queued","jobId":"{event_id}"}}'
    assert accepted.headers["Location"] == f"/jobs/{event_id}"
    assert accepted.headers["Retry-After"] == "1"
    assert accepted.headers["Content-Type"] == "application/json"
    assert "Idempotency-Replayed" not in accepted.headers


def test_it_costs_one_read_before_the_card_is_touched_and_one_write(counter: Counter) -> None:
    seen: list[list[str]] = []
    counter.cards.faults.on("charge", meanwhile(lambda: seen.append(list(counter.store.operations))))

    counter.post()

    assert seen == [["read"]]
    assert counter.store.operations == ["read", "write"]


def test_the_order_is_its_own_event_idempotency_record_and_status_header(counter: Counter) -> None:
    event_id = job_id(counter.post())

    [order] = counter.orders
    assert order["pk"] == event_id.removesuffix("-paid")
    assert order["sk"] == "entity"
    assert order["owner"] == "alice"
    assert order["amount"] == 2_042_500
    assert order["unpublished"] in "01234567"
    assert order["chargeId"] == "ch_1"
    assert "expires" not in order  # IDEM-6: an order is its own record and never expires
    assert read_envelope(order["event"]).id == event_id


def test_the_event_holds_ids_and_immutable_facts_only(counter: Counter) -> None:
    trace = "Root=1-67891233-abcdef012345678912345678"
    counter.post(headers={**PLAIN_HEADERS, "X-Amzn-Trace-Id": trace})

    [order] = counter.orders
    event = ORDER_PAID.parse(read_envelope(order["event"]))
    assert event.data.amount == 2_042_500
    assert event.data.customer_id == event.owner == "alice"
    assert event.aggregate == f"order-{event.data.order_id}"
    assert event.sequence == 1
    assert event.trace == trace
    assert int(event.time.timestamp() * 1000) == order["bornAt"]
    assert "ada@" not in order["event"]
    assert "tok_visa" not in json.dumps(order, default=str)


def test_a_repeat_gets_the_same_bytes_and_one_order(counter: Counter) -> None:
    first = counter.post()

    again = counter.post()

    assert again.body == first.body
    assert again.status == first.status
    assert again.headers == {**first.headers, "Idempotency-Replayed": "true"}
    assert len(counter.orders) == 1
    assert len(counter.cards.calls) == 1


def test_a_replay_does_not_depend_on_how_answers_are_made_today(counter: Counter) -> None:
    counter.post()
    counter.orders[0]["answer"] = '{"status":"queued","jobId":"as it was written then"}'

    assert counter.post().body == '{"status":"queued","jobId":"as it was written then"}'


@pytest.mark.parametrize(
    "same",
    [
        pytest.param(json.dumps(CART, indent=4), id="IDEM-4-spacing"),
        pytest.param(json.dumps(dict(reversed(list(CART.items())))), id="IDEM-4-key-order"),
        pytest.param(json.dumps({**CART, "currency": "NGN"}), id="default-spelled-out"),
        pytest.param(json.dumps({**CART, "note": " "}), id="DDB-8-blank-option"),
        pytest.param(json.dumps(CART).replace("ada", "\\u0061da"), id="escaped-letters"),
    ],
)
def test_a_body_that_means_the_same_is_a_repeat(counter: Counter, same: str) -> None:
    first = counter.post()

    again = counter.post(same)

    assert again.body == first.body
    assert len(counter.orders) == 1


@pytest.mark.parametrize(
    "other",
    [
        pytest.param({**CART, "lines": list(reversed(CART["lines"]))}, id="IDEM-4-lines-in-another-order"),
        pytest.param({**CART, "lines": [{"sku": "adire-shirt", "quantity": 1}]}, id="IDEM-3-other-quantity"),
        pytest.param({**CART, "cardToken": "tok_other"}, id="other-card"),
        pytest.param({**CART, "note": "ring twice"}, id="with-a-note"),
    ],
)
def test_the_same_key_with_another_payload_is_422(counter: Counter, other: Any) -> None:
    counter.post()
    order = dict(counter.orders[0])

    refusal = counter.post(other)

    assert refusal.status == 422
    assert problem_of(refusal)["code"] == "idempotency_key_reused"
    assert fields_of(refusal) == ["Idempotency-Key"]
    assert counter.orders == [order]
    assert len(counter.cards.calls) == 1


def test_keys_are_scoped_by_caller_and_differ_from_one_another(counter: Counter) -> None:
    ids = {
        job_id(counter.post(caller="alice", key="ab")),
        job_id(counter.post(caller="alice", key="a")),
        job_id(counter.post(caller="bola", key="ab")),
        job_id(counter.post(caller="alicea", key="b")),
    }

    assert len(ids) == 4


def test_a_base64_body_is_the_same_order(counter: Counter) -> None:  # API-2
    plain = counter.post()

    encoded = counter.post(encoded=True)

    assert encoded.body == plain.body
    assert len(counter.orders) == 1


def test_header_names_come_in_any_case(counter: Counter) -> None:  # API-3
    accepted = counter.post(headers={"CONTENT-type": "application/json", "idempotency-KEY": "key-1"})

    assert accepted.body == counter.post().body


def test_a_declined_card_writes_nothing_and_another_card_may_follow(counter: Counter) -> None:
    counter.cards.declined.add("tok_visa")

    refusal = counter.post()

    assert refusal.status == 402
    assert problem_of(refusal)["code"] == "card_declined"
    assert counter.store.items == {}
    assert counter.post({**CART, "cardToken": "tok_other"}).status == 202


def test_an_unknown_product_is_refused_before_the_card_is_touched(counter: Counter) -> None:
    refusal = counter.post({**CART, "lines": [{"sku": "gone", "quantity": 1}]})

    assert refusal.status == 422
    counter.assert_untouched()


def test_an_order_whose_product_is_no_longer_sold_is_still_replayed(counter: Counter) -> None:
    first = counter.post()
    counter.products = {}

    assert counter.post().body == first.body


@pytest.mark.parametrize(
    "body",
    [
        pytest.param({**CART, "note": ""}, id="DDB-8-blank-note"),
        pytest.param({**CART, "note": None}, id="null-note"),
        pytest.param(CART, id="no-note"),
    ],
)
def test_an_optional_blank_is_stored_as_absent(counter: Counter, body: Any) -> None:
    counter.post(body)

    assert "note" not in counter.orders[0]


def test_an_address_that_cannot_work_is_still_an_order(counter: Counter) -> None:
    assert counter.post({**CART, "email": "bola.example.com"}).status == 202


# ---- faults ----


def test_a_busy_database_is_503_and_the_same_key_then_succeeds(counter: Counter) -> None:  # IDEM-7
    counter.store.faults.on("write", failing(Transient("the database answered ThrottlingException")))

    refusal = counter.post()
    accepted = counter.post()

    assert refusal.status == 503
    assert refusal.headers["Retry-After"] == "1"
    assert "Throttling" not in refusal.body
    assert accepted.status == 202
    assert len(counter.orders) == 1
    assert len(counter.cards.charges) == 1
    assert counter.cards.refunds == []


def test_a_database_that_cannot_be_read_leaves_the_card_alone(counter: Counter) -> None:
    counter.store.faults.on("read", failing(Transient("out of reach")))

    assert counter.post().status == 503
    counter.assert_untouched()


def test_the_sdks_own_resend_is_known_as_our_write(counter: Counter) -> None:  # DDB-1
    counter.store.faults.on("write", sending_twice)

    accepted = counter.post()

    assert accepted.status == 202
    assert "Idempotency-Replayed" not in accepted.headers
    assert len(counter.orders) == 1
    assert counter.cards.refunds == []


def test_a_write_whose_answer_is_lost_is_found_by_the_clients_retry(counter: Counter) -> None:
    counter.store.faults.on("write", losing_the_answer(Transient("timed out")))

    assert counter.post().status == 503
    assert counter.post().status == 202
    assert len(counter.orders) == len(counter.cards.calls) == 1


def test_a_refused_write_that_does_not_show_the_winner_is_looked_up(counter: Counter) -> None:
    def hidden(perform: Any) -> None:
        perform()
        raise ConditionFailed(None)

    counter.store.faults.on("write", hidden)

    assert counter.post().status == 202


def test_a_winner_that_has_vanished_again_is_503(counter: Counter) -> None:
    counter.store.faults.on("write", failing(ConditionFailed(None)))

    assert counter.post().status == 503


def test_the_loser_of_a_race_with_the_same_payload_returns_the_winners_answer(counter: Counter) -> None:
    won: list[Answer] = []
    counter.cards.faults.on("charge", meanwhile(lambda: won.append(counter.post())))

    lost = counter.post()

    assert lost.body == won[0].body
    assert lost.headers["Idempotency-Replayed"] == "true"
    assert len(counter.orders) == len(counter.cards.charges) == 1
    assert counter.cards.refunds == []


def test_the_loser_of_a_race_with_another_payload_refunds_its_charge(counter: Counter) -> None:  # IDEM-3
    counter.cards.faults.on("charge", meanwhile(lambda: counter.post(OTHER_CART)))

    refusal = counter.post()

    assert refusal.status == 422
    [order] = counter.orders
    assert order["amount"] == 90_000
    charges = {charge.id for charge, _ in counter.cards.charges.values()}
    assert charges - set(counter.cards.refunds) == {order["chargeId"]}


def test_a_refund_that_fails_is_told_to_the_operator_not_to_the_client(
    counter: Counter, caplog: pytest.LogCaptureFixture
) -> None:
    counter.cards.faults.on("charge", meanwhile(lambda: counter.post(OTHER_CART)))
    counter.cards.faults.on("refund", failing(Transient("the gateway is down")))

    refusal = counter.post()

    assert refusal.status == 422
    assert "settlement.not_undone" in caplog.text


@pytest.mark.parametrize(
    ("error", "status"),
    [
        pytest.param(Transient("down", retry_after_seconds=6.2), 503, id="down"),
        pytest.param(ProviderError(503, "overrun", retry_after_seconds=6.2), 503, id="overrun"),
        pytest.param(ProviderError(401, "who are you"), 500, id="our-credentials"),
        pytest.param(ChargeInProgress("the same request"), 409, id="in-progress"),
    ],
)
def test_a_gateway_in_trouble_orders_nothing(counter: Counter, error: Exception, status: int) -> None:
    counter.cards.faults.on("charge", failing(error))

    refusal = counter.post()

    assert refusal.status == status
    assert str(error) not in refusal.body
    assert refusal.headers.get("Retry-After") == {503: "7", 409: "1"}.get(status)
    assert counter.store.items == {}
    assert counter.post().status == 202


def test_a_bug_is_500_without_a_word_of_the_inside_and_a_traceback_in_the_log(
    counter: Counter, caplog: pytest.LogCaptureFixture
) -> None:
    counter.store.faults.on("read", failing(ZeroDivisionError("inside, of ada@example.com")))

    with caplog.at_level(logging.ERROR):
        refusal = counter.post()

    assert refusal.status == 500
    assert "inside" not in refusal.body
    [failed] = [record for record in caplog.records if record.message == "request.failed"]
    assert "ZeroDivisionError: inside, of [e-mail]" in vars(failed)["trace"]
    assert "ada@" not in caplog.text


class Signup(Body):
    name: str


class AccountOpened(BaseModel):
    model_config = ConfigDict(frozen=True)
    account: str


ACCOUNT_OPENED = EventType("account.opened", 1, AccountOpened)


def account(intent: Intent[Signup], _settled: None, now: datetime) -> Birth:
    opened = AccountOpened(account=intent.id)
    event = ACCOUNT_OPENED.new(
        f"account-{intent.id}", opened, sequence=1, time=now, owner=intent.caller, trace=""
    )
    return Birth(event, {"name": intent.payload.name})


SIGNUP: Work[Signup, None] = Work(
    route="POST /signup",
    model=Signup,
    key=lambda account_id: Key("shop", f"account-{account_id}", "entity"),
    settle=lambda _: None,
    undo=lambda *_: None,
    build=account,
)


def test_another_route_brings_its_model_and_its_item_and_is_accepted_once_too() -> None:
    store = FakeStore()
    respond = Acceptance(SIGNUP, store, lambda: NOW)

    first, again = (answer(respond, gateway_event({"name": "Ada"})) for _ in range(2))

    assert first.body == again.body
    assert [item["name"] for item in store.items.values()] == ["Ada"]
