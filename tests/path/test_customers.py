"""Customers: a welcome for each, a link that works once, and how many are here."""

import re

from handlers.shop.customers import customer_id
from tests.path.shop import Shop

ADA = {"name": "Ada", "email": "ada@example.com"}
LINK = re.compile(r"https://\S+\?token=(\S+)")
HOUR_SECONDS = 3600


def test_pressing_again_makes_no_second_account_and_sends_no_second_welcome(shop: Shop) -> None:
    pressed = [shop.post("/signup", ADA, key) for key in ("k1", "k1", "k2")]
    shop.run_until_idle()

    assert [answer.status for answer in pressed] == [202] * 3
    assert len({answer.body for answer in pressed}) == 1
    assert len(shop.shop_items("customer-")) == 1
    assert [key for _, key in shop.mailer.sent] == [f"welcome:{customer_id('ada')}"]


def test_an_outage_of_the_mailer_makes_no_duplicate(shop: Shop) -> None:
    shop.expects("job.attempt_failed")
    shop.mailer.switch.fail(6)
    pressed = [shop.post("/signup", ADA, key).status for key in ("k1", "k2", "k3")]

    shop.run_until_idle()

    assert pressed == [202] * 3
    assert len(shop.mailer.sent) == 1


def test_the_same_caller_with_other_details_is_told_so(shop: Shop) -> None:
    shop.post("/signup", ADA)

    refusal = shop.post("/signup", {**ADA, "email": "other@example.com"}, "k2")

    assert (refusal.status, refusal.json["code"]) == (409, "signed_up")


def test_no_address_no_account_and_no_password_ever(shop: Shop) -> None:
    assert shop.post("/signup", {"name": "Ada", "email": "ada.example.com"}).status == 422
    assert shop.post("/signup", {**ADA, "password": "correct horse"}).status == 422

    assert shop.shop_items() == []


def reset_tokens(shop: Shop) -> list[str]:
    links = (LINK.search(mail.text) for mail in shop.mailer.every_mail)
    return [link[1] for link in links if link]


def use(shop: Shop, token: str, key: str = "use-1", caller: str = "ada") -> int:
    headers = {"idempotency-key": key}
    return shop.stack.call("POST", f"/password-resets/{token}/use", headers, subject=caller).status


def asked_for(shop: Shop) -> str:
    """The token of a link that has been mailed."""
    shop.post("/signup", ADA)
    assert shop.post("/password-resets", {}).status == 202
    shop.run_until_idle()
    (token,) = reset_tokens(shop)
    return token


def test_a_link_works_once(shop: Shop) -> None:
    token = asked_for(shop)

    assert [use(shop, token, key) for key in ("a", "a", "b")] == [204, 204, 404]


def test_a_link_is_sent_again_as_the_same_link(shop: Shop) -> None:
    shop.expects("Runtime.ExitError")
    shop.post("/signup", ADA)
    shop.run_until_idle()
    shop.mailer.dies_after_sending()
    shop.post("/password-resets", {})

    shop.run_until_idle()

    tokens = reset_tokens(shop)
    assert len(tokens) == 2
    assert len(set(tokens)) == 1


def test_a_link_is_no_use_to_others_after_an_hour_or_with_a_letter_changed(shop: Shop) -> None:
    token = asked_for(shop)
    wrong = token[:-1] + ("a" if token[-1] != "a" else "b")

    assert [use(shop, token, caller="bola"), use(shop, wrong), use(shop, "x")] == [404] * 3
    shop.clock.advance(HOUR_SECONDS)
    assert use(shop, token) == 404


def test_the_token_is_in_the_mail_and_nowhere_else(shop: Shop) -> None:
    token = asked_for(shop)
    use(shop, token)

    secret = token.rpartition("-")[2]
    assert secret not in str({**shop.everything(), "mails": None})
    assert not any(secret in str(record.event) for record in shop.runs("PasswordResetFunction"))
    assert not any(secret in text for _, text in shop.listener.troubles)


def test_who_has_not_signed_up_is_sent_no_link(shop: Shop) -> None:
    assert shop.post("/password-resets", {}).status == 404


def test_a_reset_does_not_wait_for_receipts(shop: Shop) -> None:
    shop.post("/signup", ADA)
    shop.run_until_idle()
    for number in range(1001, 1031):
        shop.order(number)
    with shop.without("ReceiptsFunction"):
        shop.post("/password-resets", {})
        shop.settle()
        assert shop.waiting("ReceiptsQueue") == 30

        assert len(reset_tokens(shop)) == 1
    shop.run_until_idle()


def test_whoever_is_here_is_counted_in_the_minute_after(shop: Shop) -> None:
    for caller in ("ada", "bola", "chidi"):
        assert shop.stack.call("POST", "/online", subject=caller).status == 204
    shop.clock.advance(60)

    assert shop.get("/online").json == {"online": 3}


def test_a_hello_that_is_lost_is_not_said_again(shop: Shop) -> None:
    shop.aws.switches.throttle("dynamodb", "UpdateItem")
    assert shop.stack.call("POST", "/online", subject="ada").status == 204
    assert shop.stack.call("POST", "/online", subject="bola").status == 204
    shop.clock.advance(60)

    assert shop.get("/online").json == {"online": 1}
