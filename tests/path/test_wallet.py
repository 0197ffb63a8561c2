"""The wallet: each request moves the balance once, together with its event, and the statement follows."""

import pytest

from handlers.shop.accounts import account_id, account_key, aggregate_of
from tests.path.shop import Shop

FIVE_THOUSAND_NAIRA = 500_000
"""In kobo."""


def balance(shop: Shop, caller: str = "ada") -> int:
    key = account_key(account_id(caller))
    return int(shop.store.read([key])[key]["balance"])


def statement(shop: Shop, caller: str = "ada") -> list[tuple[str, int, int]]:
    items = shop.shop_items(aggregate_of(account_id(caller)))
    lines = sorted((one for one in items if one["sk"].startswith("statement-")), key=lambda one: one["sk"])
    return [(line["movement"], line["amount"], line["balance"]) for line in lines]


def test_a_credit_of_5000_naira_pressed_three_times_is_credited_once(shop: Shop) -> None:
    answers = [shop.post("/wallet/credits", {"amount": FIVE_THOUSAND_NAIRA}) for _ in range(3)]
    shop.run_until_idle()

    assert [answer.status for answer in answers] == [202] * 3
    assert len({answer.body for answer in answers}) == 1
    assert [answer.headers.get("idempotency-replayed") for answer in answers] == [None, "true", "true"]
    assert balance(shop) == FIVE_THOUSAND_NAIRA
    assert statement(shop) == [("account.credited", 500_000, 500_000)]
    assert shop.get(answers[0].headers["location"]).json["state"] == "completed"


def test_credit_charge_and_refund_are_on_the_statement_in_their_order(shop: Shop) -> None:
    shop.post("/wallet/credits", {"amount": 500_000}, "k1")
    charged = shop.post("/wallet/charges", {"amount": 200_000}, "k2")
    shop.post("/wallet/refunds", {"charge": 2}, "k3")
    shop.run_until_idle()

    assert charged.json["jobId"] == f"account-{account_id('ada')}-charged.2"
    assert statement(shop) == [
        ("account.credited", 500_000, 500_000),
        ("account.charged", 200_000, 300_000),
        ("account.refunded", 200_000, 500_000),
    ]


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        pytest.param("/wallet/charges", {"amount": 500_001}, 402, id="more-than-there-is"),
        pytest.param("/wallet/refunds", {"charge": 7}, 404, id="refund-of-no-charge"),
        pytest.param("/wallet/credits", {"amount": 0}, 422, id="nothing"),
        pytest.param("/wallet/credits", {"amount": 1.5}, 422, id="JSON-3-fraction"),
    ],
)
def test_what_cannot_be_moved_moves_nothing(shop: Shop, path: str, body: dict[str, int], status: int) -> None:
    shop.post("/wallet/credits", {"amount": 500_000}, "k1")

    assert shop.post(path, body, "k2").status == status

    assert balance(shop) == 500_000


def test_a_charge_is_refunded_once_whatever_the_key(shop: Shop) -> None:
    shop.post("/wallet/credits", {"amount": 500_000}, "k1")
    shop.post("/wallet/charges", {"amount": 200_000}, "k2")

    answers = [shop.post("/wallet/refunds", {"charge": 2}, key).status for key in ("k3", "k3", "k4")]

    assert answers == [202, 202, 409]
    assert balance(shop) == 500_000


def test_one_key_is_one_movement(shop: Shop) -> None:
    shop.post("/wallet/credits", {"amount": 500_000}, "k1")

    assert shop.post("/wallet/credits", {"amount": 400_000}, "k1").status == 422

    assert balance(shop) == 500_000


def test_two_at_once_are_both_made(shop: Shop) -> None:
    shop.post("/wallet/credits", {"amount": 100}, "k0")
    shop.aws.switches.partial("dynamodb", "TransactWriteItems")

    assert shop.post("/wallet/credits", {"amount": 200}, "k1").status == 202

    assert balance(shop) == 300


def test_a_callers_wallet_is_nobody_elses(shop: Shop) -> None:
    location = shop.post("/wallet/credits", {"amount": 100}, caller="ada").headers["location"]
    shop.post("/wallet/credits", {"amount": 200}, caller="zo\u0040example.com and a blank")

    assert shop.get(location, "bola").status == 404
    assert balance(shop, "ada") == 100
    assert balance(shop, "zo@example.com and a blank") == 200
