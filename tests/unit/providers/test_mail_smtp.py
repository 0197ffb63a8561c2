import importlib
import socket
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from email import message_from_bytes, policy
from pathlib import Path
from typing import Any

import pytest

from handlers.postroom.errors import Permanent, Transient
from handlers.providers.mail_smtp import GOES_ON_SHARE, TOTAL_SECONDS, SmtpMailer
from handlers.shop.ports import Mail
from infra.checks.template import Template

from .certificates import server_of
from .servers import MailSink, dripping_server, mail_sink, refusing_address

MAIL = Mail(
    to="ada@example.com",
    subject="Your receipt: ₦20,425",
    text="Thank you.\n\n2 x Adire shirt: ₦17,000\n.\n",
    date=datetime(2026, 11, 30, 12, 0, tzinfo=UTC),
)
KEY = "order-1001-paid:receipts"
ROOT = Path(__file__).parent.parent.parent.parent
SENDERS = [
    f"handlers.{entry.stem}"
    for entry in sorted((ROOT / "handlers").glob("queue_*.py"))
    if "mail_smtp" in entry.read_text()
]


@pytest.fixture
def sink() -> Iterator[MailSink]:
    with mail_sink() as sink:
        yield sink


@pytest.fixture
def mailer(sink: MailSink) -> SmtpMailer:
    return SmtpMailer(sink.url, "shop@example.com")


def read(envelope: Any) -> Any:
    return message_from_bytes(envelope.content, policy=policy.default)


def test_a_mail_arrives_whole(sink: MailSink, mailer: SmtpMailer) -> None:
    message_id = mailer.send(MAIL, key=KEY)

    [envelope] = sink.mails
    message = read(envelope)
    assert envelope.mail_from == message["From"] == "shop@example.com"
    assert envelope.rcpt_tos == [message["To"]] == ["ada@example.com"]
    assert message["Subject"] == MAIL.subject
    assert message["Message-ID"] == message_id
    assert message["Date"].datetime == MAIL.date
    assert message.get_content().replace("\r\n", "\n") == MAIL.text
    assert envelope.content.isascii()


def test_a_repeat_is_the_same_bytes_under_the_same_message_id(sink: MailSink, mailer: SmtpMailer) -> None:
    ids = {mailer.send(MAIL, key=KEY), mailer.send(MAIL, key=KEY)}

    assert len(ids) == 1
    first, again = sink.mails
    assert first.content == again.content


def test_mails_that_follow_soon_share_a_conversation(sink: MailSink, mailer: SmtpMailer) -> None:
    for number in range(3):
        mailer.send(MAIL, key=f"{KEY}-{number}")

    assert (len(sink.mails), sink.conversations) == (3, 1)


@pytest.mark.parametrize("said", ["421 4.4.2 idle for too long", ""])
def test_a_conversation_that_the_server_does_not_go_on_with_is_replaced(sink: MailSink, said: str) -> None:
    mailer = SmtpMailer(sink.url, "shop@example.com", total_seconds=3)
    mailer.send(MAIL, key=KEY)
    sink.rset_answer = said

    mailer.send(MAIL, key=f"{KEY}-2")

    assert (len(sink.mails), sink.conversations) == (2, 2)


@pytest.mark.parametrize("said", ["421 4.7.0 enough", "452 4.5.3 too many messages this connection", ""])
def test_a_server_that_takes_so_many_mails_a_conversation_gets_the_next_in_a_new_one(
    sink: MailSink, mailer: SmtpMailer, said: str
) -> None:
    sink.mails_per_conversation, sink.limit_answer = 2, said

    for number in range(5):
        mailer.send(MAIL, key=f"{KEY}-{number}")

    assert (len(sink.mails), sink.conversations) == (5, 3)


def test_a_sender_that_a_new_conversation_refuses_too_is_not_tried_further(
    sink: MailSink, mailer: SmtpMailer
) -> None:
    mailer.send(MAIL, key=KEY)
    sink.mails_per_conversation, sink.limit_answer = 0, "450 later"

    with pytest.raises(Transient, match="SMTPSenderRefused"):
        mailer.send(MAIL, key=f"{KEY}-2")

    assert (len(sink.mails), sink.conversations) == (1, 2)


@pytest.mark.parametrize(
    ("kind", "said", "conversations"),
    [
        ("rcpt_answer", "550 unknown", 1),
        ("rcpt_answer", "421 closing", 2),
        ("data_answer", "554 no", 1),
        ("data_answer", "421 closing", 1),
    ],
)
def test_what_is_about_the_mail_or_in_doubt_is_not_sent_again_in_a_new_conversation(
    sink: MailSink, mailer: SmtpMailer, kind: str, said: str, conversations: int
) -> None:
    mailer.send(MAIL, key=KEY)
    setattr(sink, kind, said)

    with pytest.raises((Permanent, Transient), match=said[:3]):
        mailer.send(MAIL, key=f"{KEY}-2")

    assert sink.conversations == conversations


def test_after_a_failure_the_next_mail_has_a_conversation_of_its_own(
    sink: MailSink, mailer: SmtpMailer
) -> None:
    sink.data_answer = "451 later"
    with pytest.raises(Transient):
        mailer.send(MAIL, key=KEY)
    sink.data_answer = "250 OK"

    mailer.send(MAIL, key=KEY)

    assert (len(sink.mails), sink.conversations) == (1, 2)


def test_a_server_that_has_gone_meanwhile_is_looked_for_anew() -> None:
    with mail_sink() as sink:
        mailer = SmtpMailer(sink.url, "shop@example.com")
        mailer.send(MAIL, key=KEY)

    with pytest.raises(Transient, match="ConnectionRefusedError"):
        mailer.send(MAIL, key=f"{KEY}-2")


@pytest.mark.parametrize("other", ["order-1001-paid.receipts", "order-1001-paid=3A=receipts", "a b", "<x>@y"])
def test_message_ids_differ_where_keys_differ(mailer: SmtpMailer, other: str) -> None:
    ids = [str(mailer.compose(MAIL, key)["Message-ID"]) for key in (KEY, other)]

    assert ids[0] != ids[1]
    for message_id in ids:
        local, _, domain = message_id.strip("<>").partition("@")
        assert domain == "example.com"
        assert local.replace("=", "").replace("-", "").isalnum()


@pytest.mark.parametrize("kind", ["rcpt_answer", "data_answer"])
@pytest.mark.parametrize(
    ("said", "error"),
    [("550 no such ada@example.com", Permanent), ("451 try ada@example.com later", Transient)],
)
def test_5xx_is_for_ever_and_4xx_may_pass(
    sink: MailSink, mailer: SmtpMailer, kind: str, said: str, error: type[Exception]
) -> None:
    setattr(sink, kind, said)

    with pytest.raises(error, match=said[:3]) as raised:
        mailer.send(MAIL, key=KEY)

    assert "ada@" not in str(raised.value)
    assert raised.value.__cause__ is None
    assert sink.mails == []


@pytest.mark.parametrize("scheme", ["smtp", "smtps"])
def test_a_server_that_cannot_prove_who_it_is_gets_no_mail(tmp_path: Path, scheme: str) -> None:
    with mail_sink(server_of(tmp_path, "127.0.0.1"), scheme) as sink:
        mailer = SmtpMailer(sink.url, "shop@example.com")

        with pytest.raises(Transient, match="SSLCertVerificationError"):
            mailer.send(MAIL, key=KEY)

    assert sink.mails == []


@pytest.mark.parametrize("scheme", ["smtp", "smtps"])
def test_a_server_that_proves_who_it_is_gets_its_mails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scheme: str
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    with mail_sink(server_of(tmp_path, "localhost"), scheme) as sink:
        mailer = SmtpMailer(sink.url.replace("127.0.0.1", "localhost"), "shop@example.com")

        for number in range(2):
            mailer.send(MAIL, key=f"{KEY}-{number}")

    assert len(sink.mails) == 2


def test_a_server_that_hangs_is_transient_after_the_timeout() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        mailer = SmtpMailer(f"smtp://127.0.0.1:{port}", "shop@example.com", total_seconds=0.3)

        with pytest.raises(Transient, match="SMTPServerDisconnected"):
            mailer.send(MAIL, key=KEY)


def test_a_server_out_of_reach_is_transient() -> None:
    with refusing_address() as address, pytest.raises(Transient, match="ConnectionRefusedError"):
        SmtpMailer(f"smtp://{address}", "shop@example.com").send(MAIL, key=KEY)


def test_a_server_that_drips_is_transient_after_the_time_of_one_mail() -> None:
    with dripping_server(b"220-still here\r\n", every_seconds=0.05) as address:
        mailer = SmtpMailer(f"smtp://{address}", "shop@example.com", total_seconds=0.3)
        begun = time.monotonic()

        with pytest.raises(Transient, match="SMTPServerDisconnected"):
            mailer.send(MAIL, key=KEY)

    assert time.monotonic() - begun < 2


def test_silence_and_a_new_conversation_take_no_more_time_than_one_mail_has(sink: MailSink) -> None:
    mailer = SmtpMailer(sink.url, "shop@example.com", total_seconds=3)
    mailer.send(MAIL, key=KEY)
    sink.rset_answer = ""
    begun = time.monotonic()

    mailer.send(MAIL, key=f"{KEY}-2")

    assert 3 * GOES_ON_SHARE <= time.monotonic() - begun < 3


@pytest.mark.parametrize("module", SENDERS)
def test_the_time_of_one_mail_fits_into_that_of_every_job_that_sends_one(module: str) -> None:
    template = Template.load(ROOT / "template.yaml")

    [function] = [one for _, one in template.functions() if one["Handler"] == f"{module}.handler"]

    needs_ms = importlib.import_module(module).handler.job_type.needs_ms
    assert TOTAL_SECONDS * 1000 < needs_ms < function["Timeout"] * 1000
