import socket
import ssl
from collections.abc import Iterator
from datetime import UTC, datetime
from email import message_from_bytes, policy
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from handlers.postroom.errors import Permanent, Transient
from handlers.providers.mail_smtp import SmtpMailer
from handlers.shop.ports import Mail

from .servers import MailSink, free_port, mail_sink

MAIL = Mail(
    to="ada@example.com",
    subject="Your receipt: ₦20,425",
    text="Thank you.\n\n2 x Adire shirt: ₦17,000\n.\n",
    date=datetime(2026, 11, 30, 12, 0, tzinfo=UTC),
)
KEY = "order-1001-paid:receipts"


@pytest.fixture
def sink() -> Iterator[MailSink]:
    with mail_sink() as sink:
        yield sink


@pytest.fixture
def mailer(sink: MailSink) -> SmtpMailer:
    return SmtpMailer(sink.url, "shop@example.com")


def self_signed(directory: Path) -> ssl.SSLContext:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(datetime(2020, 1, 1))  # noqa: DTZ001 - the builder takes naive UTC
        .not_valid_after(datetime(2100, 1, 1))  # noqa: DTZ001
        .sign(key, hashes.SHA256())
    )
    file = directory / "server.pem"
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    file.write_bytes(private + certificate.public_bytes(Encoding.PEM))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    return context


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
    mailer = SmtpMailer(sink.url, "shop@example.com", timeout_seconds=0.3)
    mailer.send(MAIL, key=KEY)
    sink.rset_answer = said

    mailer.send(MAIL, key=f"{KEY}-2")

    assert (len(sink.mails), sink.conversations) == (2, 2)


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


def test_a_server_that_cannot_prove_who_it_is_gets_no_mail(tmp_path: Path) -> None:
    with mail_sink(tls=self_signed(tmp_path)) as sink:
        mailer = SmtpMailer(sink.url, "shop@example.com")

        with pytest.raises(Transient, match="SSLCertVerificationError"):
            mailer.send(MAIL, key=KEY)

    assert sink.mails == []


def test_a_server_that_hangs_is_transient_after_the_timeout() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        mailer = SmtpMailer(f"smtp://127.0.0.1:{port}", "shop@example.com", timeout_seconds=0.05)

        with pytest.raises(Transient, match="SMTPServerDisconnected"):
            mailer.send(MAIL, key=KEY)


def test_a_server_out_of_reach_is_transient() -> None:
    mailer = SmtpMailer(f"smtp://127.0.0.1:{free_port()}", "shop@example.com")

    with pytest.raises(Transient, match="ConnectionRefusedError"):
        mailer.send(MAIL, key=KEY)
