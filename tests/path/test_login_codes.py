"""Login codes: mailed within five minutes or not at all, used once, and nowhere else to be read."""

import re

import pytest

from tests.path.shop import Shop

FIVE_MINUTES = 300


def ask(shop: Shop, key: str = "key-1", caller: str = "ada") -> str:
    answer = shop.post("/login-codes", {"email": "ada@example.com"}, key, caller)
    assert answer.status == 202, answer.body
    return str(answer.json["jobId"]).removeprefix("login-").removesuffix("-requested")


def state(shop: Shop, login: str) -> str:
    return str(shop.jobs(f"login-{login}-requested")["login-codes"]["state"])


def code_in(shop: Shop) -> str:
    (mail,) = shop.mailer.mails.values()
    found = re.search(r"\b[0-9]{6}\b", mail.text)
    assert found
    return found[0]


def use(shop: Shop, login: str, code: str, caller: str = "ada") -> int:
    return shop.post(f"/login-codes/{login}/use", {"code": code}, caller=caller).status


def wrong(code: str) -> str:
    return "000000" if code != "000000" else "000001"


def test_a_code_is_mailed_and_works_once(shop: Shop) -> None:
    login = ask(shop)
    shop.settle()

    code = code_in(shop)

    assert [use(shop, login, code), use(shop, login, code)] == [204, 404]


@pytest.mark.parametrize(
    ("down_for", "ends"),
    [
        pytest.param(FIVE_MINUTES - 60, "completed", id="four-minutes"),
        pytest.param(FIVE_MINUTES + 1, "expired", id="five-minutes-and-a-second"),
    ],
)
def test_a_code_older_than_five_minutes_is_expired_and_not_sent(shop: Shop, down_for: int, ends: str) -> None:
    with shop.without("LoginCodesFunction"):
        login = ask(shop)
        shop.run_for(down_for)
    shop.settle()

    assert state(shop, login) == ends
    assert len(shop.mailer.asked) == (1 if ends == "completed" else 0)
    assert shop.waiting("LoginCodesDeadLetterQueue") == 0


def test_retries_end_with_the_deadline(shop: Shop) -> None:
    shop.expects("job.attempt_failed")
    shop.mailer.switch.fail(3_600)
    login = ask(shop)
    shop.run_until_idle()

    assert state(shop, login) == "expired"
    assert max(t for t, _ in shop.mailer.asked) <= FIVE_MINUTES
    assert shop.mailer.sent == []


def test_a_code_is_of_no_use_after_five_minutes(shop: Shop) -> None:
    login = ask(shop)
    shop.settle()
    shop.clock.advance(FIVE_MINUTES)

    assert use(shop, login, code_in(shop)) == 404


def test_after_five_wrong_codes_the_right_one_is_refused(shop: Shop) -> None:
    login = ask(shop)
    shop.settle()
    code = code_in(shop)

    assert [use(shop, login, wrong(code)) for _ in range(5)] == [404] * 5
    assert use(shop, login, code) == 404


def test_four_wrong_codes_do_no_harm(shop: Shop) -> None:
    login = ask(shop)
    shop.settle()
    code = code_in(shop)

    assert [use(shop, login, wrong(code)) for _ in range(4)] == [404] * 4
    assert use(shop, login, code) == 204


def test_anothers_code_is_not_found_and_costs_her_no_try(shop: Shop) -> None:
    login = ask(shop)
    shop.settle()
    code = code_in(shop)

    assert [use(shop, login, code, "eve") for _ in range(6)] == [404] * 6
    assert use(shop, login, code) == 204


@pytest.mark.parametrize("login", ["a" * 26, "x-y", "%20"])
def test_a_code_for_nothing_is_not_found(shop: Shop, login: str) -> None:
    assert use(shop, login, "123456") == 404


def test_the_same_message_three_times_mails_one_code(shop: Shop) -> None:
    shop.expects("Runtime.ExitError")
    shop.mortal("login-codes").deaths = 2
    ask(shop)
    shop.run_until_idle()

    assert len(shop.mailer.sent) == 1
    assert shop.outcomes("login-codes") == ["completed", "duplicate", "duplicate"]


def test_the_code_is_in_the_mail_and_nowhere_else(shop: Shop, caplog: pytest.LogCaptureFixture) -> None:
    with shop.without("LoginCodesFunction"):
        ask(shop)
        shop.settle()
        queue = shop.aws.sqs.queue(shop.stack.ref("LoginCodesQueue"))
        bodies = [each.body for each in queue.messages]
    shop.settle()
    code = code_in(shop)

    told = [*bodies, *map(str, shop.shop_items()), caplog.text]
    assert bodies
    assert not [text for text in told if re.search(rf"(?<![0-9a-f]){code}(?![0-9a-f])", text)]
