from __future__ import annotations

import smtplib
from collections.abc import Iterator
from email.message import EmailMessage
from typing import Any

import pytest

from infra.local.providers.cards import DECLINED_TOKEN, CardGateway
from infra.local.providers.mail import Mailbox, MailServer
from infra.local.providers.outages import Switch
from infra.local.servers import LOOPBACK, Servers
from tests.unit.local.functions import Clock

BODY: dict[str, Any] = {"amount": 2_042_500, "currency": "NGN", "token": "tok_visa"}


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def switch(clock: Clock) -> Switch:
    return Switch(clock)


@pytest.fixture
def gateway(switch: Switch) -> CardGateway:
    return CardGateway(switch)


def test_outage_ends_when_its_time_is_over_or_somebody_mends_it(switch: Switch, clock: Clock) -> None:
    switch.fail(5)
    seen = [switch.is_down]
    clock.now += 5
    seen.append(switch.is_down)
    switch.fail()
    clock.now += 1e9
    seen.append(switch.is_down)
    switch.mend()
    seen.append(switch.is_down)

    assert seen == [True, False, True, False]


def test_same_key_and_body_is_one_charge_with_one_answer(gateway: CardGateway) -> None:
    first, second = (gateway.post("/charges", "key-1", dict(BODY)) for _ in range(2))

    assert first == second == (200, {"id": "ch_1", "status": "approved"})
    (charge,) = gateway.charges
    assert (charge.key, charge.amount, charge.currency, charge.status) == (
        "key-1",
        2_042_500,
        "NGN",
        "approved",
    )


def test_same_key_with_another_body_is_422_and_no_charge(gateway: CardGateway) -> None:
    gateway.post("/charges", "key-1", BODY)

    assert gateway.post("/charges", "key-1", {**BODY, "amount": 1})[0] == 422
    assert len(gateway.charges) == 1


def test_declined_card_is_402_each_time_and_no_charge(gateway: CardGateway) -> None:
    answers = [gateway.post("/charges", "key-1", {**BODY, "token": DECLINED_TOKEN}) for _ in range(2)]

    assert answers == [(402, {"error": "card_declined"})] * 2
    assert gateway.charges == []


@pytest.mark.parametrize(
    ("path", "key", "body", "status"),
    [
        ("/charges", "", BODY, 400),
        ("/charges", "k", {**BODY, "amount": True}, 400),
        ("/charges", "k", {**BODY, "amount": 0}, 400),
        ("/charges", "k", {**BODY, "currency": None}, 400),
        ("/other", "k", BODY, 404),
        ("/refunds", "k", {"charge": "ch_9"}, 404),
    ],
)
def test_request_that_makes_no_sense_is_refused(
    gateway: CardGateway, path: str, key: str, body: dict[str, Any], status: int
) -> None:
    assert gateway.post(path, key, body)[0] == status


def test_charge_is_refunded_once(gateway: CardGateway) -> None:
    gateway.post("/charges", "key-1", BODY)

    first, repeat = (gateway.post("/refunds", "refund-1", {"charge": "ch_1"}) for _ in range(2))
    other = gateway.post("/refunds", "refund-2", {"charge": "ch_1"})

    assert first == repeat
    assert (first[0], other[0]) == (200, 409)
    assert [charge["status"] for charge in gateway.listed({})[1]["charges"]] == ["refunded"]


def test_gateway_out_of_order_answers_503_and_does_nothing(gateway: CardGateway, switch: Switch) -> None:
    switch.fail()

    assert [gateway.post("/charges", "key-1", BODY)[0], gateway.listed({})[0]] == [503, 503]
    switch.mend()
    assert gateway.charges == []


class Post:
    def __init__(self, servers: Servers, switch: Switch) -> None:
        self.mailbox = Mailbox()
        self.port = servers.protocol(MailServer(self.mailbox, switch).session)

    def send(self, to: str = "ada@example.com", message_id: str = "<1@example.com>") -> None:
        mail = EmailMessage()
        mail["From"], mail["To"], mail["Subject"] = "shop@example.com", to, "Receipt: ₦20,425"
        mail["Message-ID"] = message_id
        mail.set_content("Thank you. ₦20,425.\nMessage-ID: <no header>\n")
        with smtplib.SMTP(LOOPBACK, self.port, local_hostname="test", timeout=10) as server:
            server.send_message(mail, "shop@example.com", [to])


@pytest.fixture
def post(switch: Switch) -> Iterator[Post]:
    servers = Servers()
    yield Post(servers, switch)
    servers.close()


def test_mail_arrives_whole(post: Post) -> None:
    post.send()

    (mail,) = post.mailbox.mails
    assert (mail.message_id, list(mail.recipients)) == ("<1@example.com>", ["ada@example.com"])
    assert mail.subject == "Receipt: ₦20,425"
    assert mail.text.startswith("Thank you. ₦20,425.")


def test_mails_of_one_message_id_are_one_mail_and_every_arrival_counts(post: Post) -> None:
    for message_id in ("<1@example.com>", "<1@example.com>", "<2@example.com>"):
        post.send(message_id=message_id)

    assert [(mail.message_id, len(mail.times)) for mail in post.mailbox.mails] == [
        ("<1@example.com>", 2),
        ("<2@example.com>", 1),
    ]
    assert post.mailbox.arrivals == 3


def test_server_out_of_order_says_try_later_and_keeps_nothing(post: Post, switch: Switch) -> None:
    switch.fail()

    with pytest.raises(smtplib.SMTPException) as refused:
        post.send()
    switch.mend()
    post.send()

    assert getattr(refused.value, "smtp_code", 0) // 100 == 4
    assert post.mailbox.arrivals == 1


@pytest.mark.parametrize("address", ["chidi.example.com", "a@b", "@example.com"])
def test_address_that_is_none_is_refused_for_good(post: Post, address: str) -> None:
    with pytest.raises(smtplib.SMTPRecipientsRefused) as refused:
        post.send(to=address)

    assert {code // 100 for code, _ in refused.value.recipients.values()} == {5}
