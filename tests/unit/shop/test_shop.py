"""The shop's rules, each with its exact figures."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from io import BytesIO
from itertools import pairwise
from typing import Any

import pytest
from fpdf import FPDF
from hypothesis import given
from hypothesis import strategies as st
from pypdf import PageObject, PdfReader

from handlers.postroom.errors import AlreadyDone, Permanent
from handlers.postroom.jobs import EPOCH
from handlers.shop.catalogue import PRODUCTS
from handlers.shop.invoices import invoice_name, invoice_pdf
from handlers.shop.loyalty import credit, points_for
from handlers.shop.money import naira, plain_naira
from handlers.shop.orders import ORDER_PAID, Order, OrderLine, OrderPaid, order_key
from handlers.shop.receipts import is_address, receipt_for
from handlers.shop.warehouse import pick_for, pick_key, pick_key_of_event

PLACED = datetime(2026, 11, 30, 12, 0, 0, 7_000, tzinfo=UTC)
ORDER = Order(
    id="1001",
    email="ada@example.com",
    lines=[
        OrderLine("adire-shirt", "Adire shirt", 850_000, 2),
        OrderLine("palm-basket", "Palm basket", 342_500, 1),
    ],
    amount=2_042_500,
    currency="NGN",
    placed_at=PLACED,
)


@pytest.mark.parametrize(
    ("kobo", "text"),
    [
        (2_042_500, "₦20,425"),
        (2_042_550, "₦20,425.50"),
        (5, "₦0.05"),
        (0, "₦0"),
        (-250, "-₦2.50"),
        (10**12, "₦10,000,000,000"),
    ],
)
def test_money_is_printed_exactly(kobo: int, text: str) -> None:
    assert naira(kobo) == text


def test_money_has_a_form_without_the_naira_sign() -> None:
    assert plain_naira(2_042_550) == "NGN 20,425.50"


def test_sums_are_exact() -> None:  # JSON-3
    assert naira(3 * 10) == "₦0.30"
    assert naira(3 * 1_999) == "₦59.97"
    assert naira(3_040) == "₦30.40"


@given(st.integers(0, 10**15))
def test_printed_money_loses_nothing(kobo: int) -> None:
    whole, _, rest = naira(kobo).removeprefix("₦").replace(",", "").partition(".")

    assert int(whole) * 100 + int(rest or 0) == kobo


def test_every_product_is_filed_under_its_own_sku_with_a_price() -> None:
    assert all(sku == product.sku and product.unit_price > 0 for sku, product in PRODUCTS.items())
    assert sum(PRODUCTS[line.sku].unit_price * line.quantity for line in ORDER.lines) == 2_042_500


@pytest.mark.parametrize(
    ("amount", "points"), [(2_042_500, 204), (9_999, 0), (10_000, 1), (19_999, 1), (20_000, 2)]
)
def test_points_are_one_for_each_full_100_naira(amount: int, points: int) -> None:
    assert points_for(amount) == points


def test_an_order_reads_back_as_it_was_written() -> None:
    key = order_key("1001")
    born = (PLACED - EPOCH).total_seconds() * 1000
    item = {**ORDER.attributes, "pk": key.pk, "sk": key.sk, "bornAt": int(born)}

    assert Order.from_item(item) == ORDER


def test_a_note_is_kept_and_goes_to_the_warehouse() -> None:
    noted = replace(ORDER, note="ring twice")

    assert noted.attributes["note"] == pick_for(noted).item["note"] == "ring twice"
    assert "note" not in pick_for(ORDER).item


def test_the_points_entry_is_keyed_by_the_event() -> None:
    paid = OrderPaid(order_id="1001", customer_id="alice", amount=2_042_500, currency="NGN")
    event = ORDER_PAID.new("order-1001", paid, sequence=1, time=PLACED, owner="alice", trace="")

    entry = credit(event)

    assert entry.key == ("shop", "customer-alice", "points-order-1001-paid")
    assert entry.item["points"] == 204
    assert isinstance(entry.refused, AlreadyDone)


def test_a_pick_is_found_from_its_event_alone() -> None:
    assert pick_key_of_event(ORDER_PAID.event_id("order-1001")) == pick_key("1001") == pick_for(ORDER).key


def test_a_receipt_says_what_was_bought_and_paid() -> None:
    mail = receipt_for(ORDER)

    assert mail.to == "ada@example.com"
    assert mail.subject == "Your receipt for order 1001: ₦20,425"
    assert "2 x Adire shirt: ₦17,000\n1 x Palm basket: ₦3,425\n" in mail.text
    assert mail.text.endswith("Paid: ₦20,425\n")
    assert mail.date == PLACED


@pytest.mark.parametrize(
    "text",
    [
        "bola.example.com",
        "@example.com",
        "bola@",
        "bola@example",
        "bola@@example.com",
        "bola@example..com",
        "bola@-example.com",
        "a b@example.com",
        "a@example.com, b@example.com",
        "bola@example.com\n",
        "zoë@example.com",
        f"{'a' * 65}@example.com",
        f"a@{'b' * 64}.com",
        f"a@{'b.' * 130}com",
    ],
)
def test_what_is_no_address_gets_no_receipt_ever(text: str) -> None:
    with pytest.raises(Permanent, match="not an e-mail address") as raised:
        receipt_for(replace(ORDER, email=text))

    assert text not in str(raised.value)


@pytest.mark.parametrize(
    "text", ["ada@example.com", "a+b.c_d@mail.example.co.uk", "o'neill@example.com", "a@1.2"]
)
def test_usual_addresses_are_addresses(text: str) -> None:
    assert is_address(text)


def test_an_invoice_is_a_pdf_that_names_what_was_paid() -> None:
    reader = PdfReader(BytesIO(invoice_pdf(ORDER)))

    text = reader.pages[0].extract_text()
    assert len(reader.pages) == 1
    for part in ("Order 1001", "2026-11-30", "ada@example.com", "Adire shirt", "NGN 17,000", "NGN 20,425"):
        assert part in text
    assert reader.metadata is not None
    assert reader.metadata.title == "Invoice 1001"
    assert reader.metadata.creation_date == PLACED.replace(microsecond=0)


def test_an_invoice_is_the_same_bytes_every_time_and_under_the_same_name() -> None:
    assert invoice_pdf(ORDER) == invoice_pdf(ORDER)
    assert invoice_name(ORDER) == "invoices/1001.pdf"


def texts_of(page: PageObject) -> list[tuple[float, float, float, str]]:
    """Height on the page, left and right edge (all in points) of each text, and the text; as drawn."""
    ruler = FPDF(unit="pt")
    found = []

    def visit(text: str, _cm: Any, tm: Sequence[float], font: Any, size: float) -> None:
        if text.strip():
            ruler.set_font("Helvetica", "B" if "Bold" in font["/BaseFont"] else "", size)
            shown = text.strip("\n")
            found.append((tm[5], tm[4], tm[4] + ruler.get_string_width(shown), shown))

    page.extract_text(visitor_text=visit)
    return found


@pytest.mark.parametrize("letter", ["W", "i", "é", "@"])
def test_long_names_are_cut_before_the_next_column_and_the_edge(letter: str) -> None:
    line = replace(ORDER.lines[0], name=letter * 300, quantity=10_000)
    order = replace(ORDER, email=letter * 254, lines=[line])

    [page] = PdfReader(BytesIO(invoice_pdf(order))).pages

    texts = texts_of(page)
    assert sum(text.endswith(f"{letter}...") for *_, text in texts) == 2
    assert all(right < page.mediabox.width - 28 for _, _, right, _ in texts)
    for (height, _, right, _), (next_height, left, _, _) in pairwise(texts):
        assert height != next_height or right < left


def test_a_name_that_fits_is_not_cut() -> None:
    order = replace(ORDER, lines=[replace(ORDER.lines[0], name="A hand-woven basket of palm leaves (large)")])

    text = PdfReader(BytesIO(invoice_pdf(order))).pages[0].extract_text()

    assert "A hand-woven basket of palm leaves (large)" in text


def test_controls_in_a_name_are_not_drawn() -> None:
    order = replace(ORDER, lines=[replace(ORDER.lines[0], name="a\nb\rc\x00d\x7fe\x85f")])

    text = PdfReader(BytesIO(invoice_pdf(order))).pages[0].extract_text()

    assert "a?b?c?d?e?f" in text


@pytest.mark.parametrize("count", range(20, 64))
def test_every_page_has_heads_and_the_sum_stands_below_a_line(count: int) -> None:
    order = replace(ORDER, lines=[ORDER.lines[0]] * count)

    pages = [page.extract_text() for page in PdfReader(BytesIO(invoice_pdf(order))).pages]

    assert [page.count("Item") for page in pages] == [1] * len(pages)
    assert sum(page.count("Adire shirt") for page in pages) == count
    assert "Adire shirt" in pages[-1]
    assert ["Paid" in page for page in pages] == [False] * (len(pages) - 1) + [True]


@pytest.mark.parametrize(
    "email", ["bola.example.com", "zoë@example.com", "ада@пример.рф", "\U0001f600" * 254]
)
def test_any_email_and_fifty_lines_fit_an_invoice(email: str) -> None:
    order = replace(ORDER, email=email, lines=list(ORDER.lines) * 25)

    reader = PdfReader(BytesIO(invoice_pdf(order)))

    assert "NGN 20,425" in reader.pages[-1].extract_text()
