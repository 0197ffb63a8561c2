import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from handlers.postroom.errors import ProviderError, Transient
from handlers.postroom.retries import is_permanent
from handlers.providers.cards_http import HttpCards
from handlers.shop.ports import CardDeclined, ChargeInProgress, PastCharge

from .certificates import server_of
from .servers import CardServer, card_server, dripping_server, refusing_address


@pytest.fixture
def server() -> Iterator[CardServer]:
    with card_server() as server:
        yield server


@pytest.fixture
def cards(server: CardServer) -> HttpCards:
    return HttpCards(server.url)


def test_a_charge_is_posted_with_its_key_below_the_base_url(server: CardServer, cards: HttpCards) -> None:
    charge = cards.charge(2_042_500, "NGN", "tok_visa", key="k1")

    assert charge.id == "ch_1"
    body = {"amount": 2_042_500, "currency": "NGN", "token": "tok_visa", "reference": "postroom/k1"}
    assert server.asked == [("/api/charges", body, "k1")]


def test_a_connection_is_kept_for_the_next_charge(server: CardServer, cards: HttpCards) -> None:
    for number in range(3):
        cards.charge(1, "NGN", "tok", key=f"k{number}")

    assert len(server.connections) == 1


def test_a_kept_connection_that_was_closed_meanwhile_costs_no_charge(
    server: CardServer, cards: HttpCards
) -> None:
    server.hang_up_after_answer = True

    charges = [cards.charge(1, "NGN", "tok", key=f"k{number}") for number in range(3)]

    assert [charge.id for charge in charges] == ["ch_1", "ch_2", "ch_3"]
    assert len(server.charged) == 3


def test_a_declined_card_is_said_to_be_declined(server: CardServer, cards: HttpCards) -> None:
    server.next_answers.append((402, json.dumps({"error": "card_declined"}).encode()))

    with pytest.raises(CardDeclined):
        cards.charge(1, "NGN", "tok", key="k1")


def test_a_key_in_use_is_a_charge_in_progress(server: CardServer, cards: HttpCards) -> None:
    server.next_answers.append((409, b"{}"))

    with pytest.raises(ChargeInProgress):
        cards.charge(1, "NGN", "tok", key="k1")


@pytest.mark.parametrize(
    ("status", "permanent"),
    [(400, True), (404, True), (408, False), (429, False), (500, False), (503, False)],
)
def test_any_other_status_is_judged_by_its_class(
    server: CardServer, cards: HttpCards, status: int, permanent: bool
) -> None:
    server.next_answers.append((status, b"secret words"))

    with pytest.raises(ProviderError) as raised:
        cards.charge(1, "NGN", "tok", key="k1")

    assert is_permanent(raised.value) is permanent
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize("status", [401, 403])
def test_a_refusal_of_our_credentials_says_nothing_of_the_charge(
    server: CardServer, cards: HttpCards, status: int
) -> None:
    """They may have been changed a moment ago. A refund refused for good would never be made."""
    server.next_answers += [(status, b"{}")] * 3

    for ask in (
        lambda: cards.charge(1, "NGN", "tok", key="k1"),
        lambda: cards.refund("ch_1"),
        lambda: cards.made(since=0.0, until=1.0, after=None),
    ):
        with pytest.raises(Transient, match="credentials"):
            ask()


def test_a_refund_that_the_gateway_is_working_on_is_asked_for_again(
    server: CardServer, cards: HttpCards
) -> None:
    server.next_answers.append((409, b'{"error":"in_progress"}'))

    with pytest.raises(Transient):
        cards.refund("ch_1")


@pytest.mark.parametrize("content", [b"", b"not json", b"[]", b'{"id":7}', b'{"id":""}', b"\xff"])
def test_a_yes_that_cannot_be_read_is_asked_for_again_later(
    server: CardServer, cards: HttpCards, content: bytes
) -> None:
    server.next_answers.append((200, content))

    with pytest.raises(Transient):
        cards.charge(1, "NGN", "tok", key="k1")
    assert cards.charge(1, "NGN", "tok", key="k1").id == "ch_1"


def test_a_gateway_out_of_reach_is_transient() -> None:
    with refusing_address() as address, pytest.raises(Transient, match="ConnectionRefusedError"):
        HttpCards(f"http://{address}").charge(1, "NGN", "tok", key="k1")


def test_a_gateway_that_hangs_is_transient_after_the_timeout(server: CardServer) -> None:
    server.hangs = threading.Event()
    cards = HttpCards(server.url, total_seconds=0.05)

    with pytest.raises(Transient, match="TimeoutError"):
        cards.charge(1, "NGN", "tok", key="k1")

    server.hangs.set()


def test_a_gateway_that_drips_is_transient_after_the_time_of_one_question() -> None:
    with dripping_server(b"HTTP/1.1 100 Continue\r\n\r\n", every_seconds=0.05) as address:
        cards = HttpCards(f"http://{address}", total_seconds=0.2)
        begun = time.monotonic()

        with pytest.raises(Transient, match="TimeoutError"):
            cards.charge(1, "NGN", "tok", key="k1")

    assert time.monotonic() - begun < 10


def test_a_kept_connection_has_the_next_questions_time(server: CardServer) -> None:
    now = [0.0]
    cards = HttpCards(server.url, monotonic=lambda: now[0])
    cards.charge(1, "NGN", "tok", key="k1")
    now[0] += 60

    charge = cards.charge(1, "NGN", "tok", key="k2")

    assert charge.id == "ch_2"
    assert len(server.connections) == 1


def test_a_gateway_that_cannot_prove_who_it_is_gets_no_charge(tmp_path: Path) -> None:
    with card_server(server_of(tmp_path, "127.0.0.1")) as server:
        with pytest.raises(Transient, match="SSLCertVerificationError"):
            HttpCards(server.url).charge(1, "NGN", "tok", key="k1")

        assert server.asked == []


def test_a_gateway_that_proves_who_it_is_gets_its_charges(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    with card_server(server_of(tmp_path, "localhost")) as server:
        cards = HttpCards(server.url.replace("127.0.0.1", "localhost"))

        charges = [cards.charge(1, "NGN", "tok", key=f"k{number}") for number in range(2)]

    assert [charge.id for charge in charges] == ["ch_1", "ch_2"]
    assert len(server.connections) == 1


def test_a_charge_that_was_refunded_long_ago_needs_no_refund(server: CardServer, cards: HttpCards) -> None:
    server.next_answers.append((409, b'{"error":"already_refunded"}'))

    cards.refund("ch_1")


def test_a_refund_names_its_charge_and_has_a_key_of_its_own(server: CardServer, cards: HttpCards) -> None:
    cards.refund("ch_1")

    assert server.asked == [("/api/refunds", {"charge": "ch_1"}, "refund-ch_1")]


def test_a_refund_that_is_refused_is_an_error(server: CardServer, cards: HttpCards) -> None:
    server.next_answers.append((500, b""))

    with pytest.raises(ProviderError):
        cards.refund("ch_1")


PAST = {"id": "ch_1", "reference": "postroom/k1", "created": 1_700_000_000.25, "status": "approved"}


def listing(*charges: dict[str, object], **rest: object) -> tuple[int, bytes]:
    return 200, json.dumps({"charges": charges, **rest}).encode()


def test_a_listing_asks_for_a_span_of_this_shops_charges(server: CardServer, cards: HttpCards) -> None:
    server.next_answers += [listing(PAST, next="ch_1"), listing({**PAST, "id": "ch_2", "status": "refunded"})]

    first = cards.made(since=1.5, until=2.5, after=None)
    second = cards.made(since=1.5, until=2.5, after=first.next)

    asked = "/api/charges?since=1.5&until=2.5&limit=100&source=postroom"
    assert [path for path, _, _ in server.asked] == [asked, f"{asked}&after=ch_1"]
    assert first.charges == [PastCharge("ch_1", "k1", 1_700_000_000.25, False)]
    assert [charge.is_refunded for charge in second.charges] == [True]
    assert second.next is None


@pytest.mark.parametrize(
    "other",
    [
        pytest.param({"reference": "another-shop/k1"}, id="of-another-shop"),
        pytest.param({"reference": "postroom-dev/k1"}, id="of-another-stage"),
        pytest.param({"reference": None}, id="without-a-reference"),
        pytest.param({"status": "declined"}, id="that-took-no-money"),
    ],
)
def test_a_charge_that_is_not_ours_is_never_listed(
    server: CardServer, cards: HttpCards, other: dict[str, object]
) -> None:
    server.next_answers.append(listing({**PAST, **other}, PAST))

    page = cards.made(since=0, until=1, after=None)

    assert [charge.key for charge in page.charges] == ["k1"]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"{}",
        b'{"charges":7}',
        b'{"charges":[{}]}',
        b'{"charges":[{"status":"approved","reference":"postroom/k1"}]}',
    ],
)
def test_a_listing_that_cannot_be_read_is_no_empty_list(
    server: CardServer, cards: HttpCards, content: bytes
) -> None:
    server.next_answers.append((200, content))

    with pytest.raises(Transient):
        cards.made(since=0, until=1, after=None)


def test_a_refused_listing_is_an_error(server: CardServer, cards: HttpCards) -> None:
    server.next_answers.append((503, b""))

    with pytest.raises(ProviderError):
        cards.made(since=0, until=1, after=None)
