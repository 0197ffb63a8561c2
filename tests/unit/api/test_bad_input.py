"""Whatever is wrong with a request: a problem that names it, nothing written, no card touched."""

import json
import logging
from typing import Any

import pytest

from handlers.postroom.change import Changes
from handlers.postroom.errors import CancelledBecause, TransactionCancelled
from handlers.postroom.http import answer
from handlers.shop.wallet import CREDIT
from tests.fakes import FakeStore, failing
from tests.unit.gateway import NOW, PLAIN_HEADERS, fields_of, gateway_event, problem_of

from .conftest import CART, Counter

DIGITS_4301 = '{"quantity":' + "9" * 4_301 + "}"
DIGITS_39 = '{"quantity":' + "9" * 39 + "}"


def cart(**changes: Any) -> dict[str, Any]:
    return {**CART, **changes}


def line(**changes: Any) -> dict[str, Any]:
    return cart(lines=[{"sku": "zobo-tea", "quantity": 1, **changes}])


@pytest.mark.parametrize(
    ("body", "field"),
    [
        pytest.param("{", "body", id="API-1-cut"),
        pytest.param("", "body", id="API-1-empty"),
        pytest.param("null", "body", id="API-1-null"),
        pytest.param("[]", "body", id="API-1-array"),
        pytest.param('"x"', "body", id="API-1-string"),
        pytest.param("5", "body", id="API-1-number"),
        pytest.param(b"\xff\xfe", "body", id="API-4-not-utf-8"),
        pytest.param('{"email":"a","email":"b"}', "email", id="JSON-1-repeated-key"),
        pytest.param('{"lines":[{"quantity":1,"quantity":999}]}', "quantity", id="JSON-1-in-a-line"),
        pytest.param(DIGITS_4301, "body", id="JSON-2-4301-digits"),
        pytest.param(DIGITS_39, "body", id="JSON-4-39-digits"),
        pytest.param('{"quantity":NaN}', "body", id="nan"),
        pytest.param('{"quantity":Infinity}', "body", id="infinity"),
        pytest.param('{"email":"\\ud800"}', "email", id="lone-surrogate"),
        pytest.param('{"lines":[{},{"sku":"\\udc00"}]}', "lines[1].sku", id="lone-surrogate-deep"),
        pytest.param('{"\\ud800":1,"\\ud800":2}', "?", id="surrogate-as-repeated-key"),
        pytest.param('{"email":"\ud800"}', "body", id="raw-surrogate"),
        pytest.param("[" * 60_000, "body", id="nested-too-deeply"),
        pytest.param("\ufeff{}", "body", id="byte-order-mark"),
    ],
)
def test_a_body_that_cannot_be_read_is_400(counter: Counter, body: str | bytes, field: str) -> None:
    refusal = counter.post(body)

    assert refusal.status == 400
    assert fields_of(refusal) == [field]
    counter.assert_untouched()


@pytest.mark.parametrize(
    ("body", "field"),
    [
        pytest.param({}, "lines", id="nothing"),
        pytest.param(cart(lines=[]), "lines", id="empty-cart"),
        pytest.param(cart(lines=None), "lines", id="null-lines"),
        pytest.param(cart(lines={}), "lines", id="lines-no-list"),
        pytest.param(
            cart(lines=[{"sku": f"sku-{n}", "quantity": 1} for n in range(51)]), "lines", id="51-lines"
        ),
        pytest.param(cart(lines=[{"sku": "zobo-tea", "quantity": 1}] * 2), "lines", id="repeated-sku"),
        pytest.param(line(quantity=True), "lines[0].quantity", id="bool-quantity"),
        pytest.param(line(quantity=0), "lines[0].quantity", id="zero-quantity"),
        pytest.param(line(quantity=-1), "lines[0].quantity", id="negative-quantity"),
        pytest.param(line(quantity=1_000), "lines[0].quantity", id="quantity-over-999"),
        pytest.param(line(quantity="1"), "lines[0].quantity", id="text-quantity"),
        pytest.param(line(quantity=1.5), "lines[0].quantity", id="JSON-3-fraction-quantity"),
        pytest.param(line(quantity=None), "lines[0].quantity", id="null-quantity"),
        pytest.param(line(price=1), "lines[0].price", id="price-from-the-client"),
        pytest.param(line(sku="no-such-thing"), "lines[0].sku", id="unknown-sku"),
        pytest.param(line(sku=""), "lines[0].sku", id="DDB-8-empty-sku"),
        pytest.param(line(sku="zobo-tea\n"), "lines[0].sku", id="sku-with-line-end"),
        pytest.param(cart(surprise=1), "surprise", id="unknown-field"),
        pytest.param(cart(card_token="tok"), "card_token", id="field-in-another-spelling"),
        pytest.param(cart(email=""), "email", id="DDB-8-empty-email"),
        pytest.param(cart(email="  "), "email", id="blank-email"),
        pytest.param(cart(email=["ada@example.com"]), "email", id="email-no-text"),
        pytest.param(cart(email="a" * 255), "email", id="long-email"),
        pytest.param(cart(email="A\x00B@example.com"), "email", id="SQS-2-nul"),
        pytest.param(cart(email="a\x0b@example.com"), "email", id="SQS-2-vertical-tab"),
        pytest.param(cart(email="a\ufffe@example.com"), "email", id="SQS-2-fffe"),
        pytest.param(cart(email="a\uffff@example.com"), "email", id="SQS-2-ffff"),
        pytest.param(cart(email="a@example.com\r\nBcc: b@example.com"), "email", id="header-injection"),
        pytest.param(cart(note="\x1b[2J"), "note", id="escape-in-note"),
        pytest.param(cart(note="x" * 201), "note", id="long-note"),
        pytest.param(cart(currency="USD"), "currency", id="other-currency"),
        pytest.param(cart(cardToken="tok visa"), "cardToken", id="token-with-space"),
        pytest.param(cart(cardToken=""), "cardToken", id="DDB-8-empty-token"),
    ],
)
def test_a_body_that_is_not_acceptable_is_422(counter: Counter, body: Any, field: str) -> None:
    refusal = counter.post(body)

    assert refusal.status == 422
    assert field in fields_of(refusal)
    counter.assert_untouched()


@pytest.mark.parametrize("whole", ["2.0", "2e0", "0.2E1"])
def test_a_whole_number_may_be_written_with_a_fraction_or_an_exponent(counter: Counter, whole: str) -> None:
    """To JSON Schema they are integers, so the contract lets them be sent; the same request is the same."""
    plain = json.dumps(line(quantity=2))

    answers = [counter.post(plain), counter.post(plain.replace('"quantity": 2', f'"quantity": {whole}'))]

    assert [answer.status for answer in answers] == [202, 202]
    assert answers[0].body == answers[1].body
    assert len(counter.orders) == 1


def test_every_wrong_field_is_named_at_once(counter: Counter) -> None:
    refusal = counter.post({"email": 5, "lines": [{"sku": "zobo-tea", "quantity": 0}], "cardToken": "t"})

    assert fields_of(refusal) == ["email", "lines[0].quantity"]


def test_the_list_of_wrong_fields_is_bounded(counter: Counter) -> None:
    refusal = counter.post({f"{'x' * 200}{number}": 1 for number in range(100)})

    assert len(fields_of(refusal)) == 20
    assert max(map(len, fields_of(refusal))) == 100


@pytest.mark.parametrize(
    ("headers", "field"),
    [
        pytest.param(None, "Idempotency-Key", id="API-3-null-headers"),
        pytest.param({}, "Idempotency-Key", id="IDEM-5-no-key"),
        pytest.param({"idempotency-key": "  "}, "Idempotency-Key", id="blank-key"),
        pytest.param({"idempotency-key": "k" * 256}, "Idempotency-Key", id="long-key"),
        pytest.param({"idempotency-key": "two words"}, "Idempotency-Key", id="key-with-space"),
        pytest.param({"idempotency-key": "schlüssel"}, "Idempotency-Key", id="key-not-ascii"),
    ],
)
def test_a_missing_or_unusable_key_is_400(
    counter: Counter, headers: dict[str, str] | None, field: str
) -> None:
    with_type = headers and {"content-type": "application/json", **headers}

    refusal = counter.post(headers=with_type)

    assert refusal.status == 400
    assert fields_of(refusal) == [field]
    counter.assert_untouched()


def test_two_customers_without_a_key_never_share_an_answer(counter: Counter) -> None:  # IDEM-5
    without_key = {"content-type": "application/json"}

    answers = [counter.post(caller=caller, headers=without_key) for caller in ("alice", "bola")]

    assert [each.status for each in answers] == [400, 400]


@pytest.mark.parametrize(
    "content_type",
    ["", "text/plain", "application/x-www-form-urlencoded", "application/json; charset=latin-1", "json"],
)
def test_another_content_type_is_415(counter: Counter, content_type: str) -> None:
    refusal = counter.post(headers={**PLAIN_HEADERS, "content-type": content_type})

    assert refusal.status == 415
    assert fields_of(refusal) == ["Content-Type"]
    counter.assert_untouched()


@pytest.mark.parametrize("content_type", ["APPLICATION/JSON", 'application/json; charset="UTF-8"'])
def test_the_content_type_may_be_spelled_in_other_ways(counter: Counter, content_type: str) -> None:
    assert counter.post(headers={**PLAIN_HEADERS, "content-type": content_type}).status == 202


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("a" * 300_000, id="SNS-1-ascii"),
        pytest.param("é" * 150_000, id="SNS-1-two-bytes-each"),
        pytest.param("a" * 65_536, id="just-over"),
    ],
)
@pytest.mark.parametrize("encoded", [False, True])
def test_a_body_that_is_too_large_is_413(counter: Counter, text: str, encoded: bool) -> None:
    refusal = counter.post(json.dumps(cart(email=text), ensure_ascii=False), encoded=encoded)

    assert refusal.status == 413
    assert "65536 bytes" in problem_of(refusal)["detail"]
    counter.assert_untouched()


def test_a_body_that_is_not_the_base64_it_says_it_is_is_400(counter: Counter) -> None:
    refusal = answer(counter.respond, {**gateway_event(), "body": "&&&", "isBase64Encoded": True})

    assert refusal.status == 400
    assert fields_of(refusal) == ["body"]


@pytest.mark.parametrize("caller", [None, "", "a" * 256, "a\nb", "zoë"])
def test_without_a_usable_subject_it_is_401(counter: Counter, caller: str | None) -> None:
    refusal = counter.post(caller=caller)

    assert refusal.status == 401
    counter.assert_untouched()


@pytest.mark.parametrize("claims", [None, [], "sub", {"claims": None}])
def test_an_authorizer_of_another_shape_is_401(counter: Counter, claims: Any) -> None:
    event = {**gateway_event(CART), "requestContext": {"authorizer": {"jwt": claims}}}

    assert answer(counter.respond, event).status == 401


def test_no_problem_repeats_what_the_client_sent(counter: Counter, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        refusal = counter.post(cart(cardToken="tok secret", email="\x00ada@example.com"))

    assert "secret" not in refusal.body + caplog.text
    assert "ada@" not in refusal.body + caplog.text


def test_a_change_that_the_database_will_never_take_is_our_fault_and_not_a_busy_moment() -> None:
    store = FakeStore()
    too_large = CancelledBecause("ValidationError", "Item size has exceeded the maximum allowed size", None)
    store.faults.on("transact", failing(TransactionCancelled((None, None, too_large))))
    changes = Changes(CREDIT, store, lambda: NOW, lambda _: None)

    refusal = answer(changes, gateway_event({"amount": 500_000}))

    assert (refusal.status, "Retry-After" in refusal.headers) == (500, False)
    assert store.items == {}
