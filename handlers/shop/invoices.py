"""The invoice: a PDF of an order, the same bytes however often it is made."""

from typing import TYPE_CHECKING

from .money import plain_naira
from .orders import Order, OrderLine

if TYPE_CHECKING:
    from fpdf import FPDF

CONTENT_TYPE = "application/pdf"
_EDGES_MM = (110, 150, 190)
"""The right edges of the columns of numbers, from the left margin."""
_ROW_MM = 8
_TITLE_MM = 14


def invoice_name(order: Order) -> str:
    """Derived from the order, so that a second run replaces the file and does not add one."""
    return name_of_invoice(order.id)


def name_of_invoice(order_id: str) -> str:
    return f"invoices/{order_id}.pdf"


def invoice_pdf(order: Order) -> bytes:
    # imported here: it is half a second of start-up, and one function's business only
    from fpdf import FPDF

    pdf = FPDF(format="A4")
    pdf.set_creation_date(order.placed_at)
    pdf.set_title(f"Invoice {order.id}")
    pdf.add_page()
    _head(pdf, order)
    _table(pdf, order)
    return bytes(pdf.output())


def _head(pdf: "FPDF", order: Order) -> None:
    pdf.set_font("Helvetica", "B", 18)
    _left(pdf, pdf.l_margin, "Invoice", height=_TITLE_MM)
    pdf.y += _TITLE_MM
    pdf.set_font("Helvetica", size=11)
    for line in (f"Order {order.id}", f"Date {order.placed_at:%Y-%m-%d}", f"For {_latin(order.email)}"):
        _left(pdf, pdf.l_margin, line)
        pdf.y += _ROW_MM
    pdf.y += _ROW_MM


def _table(pdf: "FPDF", order: Order) -> None:
    pdf.set_font("Helvetica", "B", 11)
    _row(pdf, "Item", "Quantity", "Each", "Sum")
    pdf.set_font("Helvetica", size=11)
    for line in order.lines:
        _row(pdf, *_cells(line))
    pdf.set_font("Helvetica", "B", 11)
    _row(pdf, "Paid", "", "", plain_naira(order.amount))


def _cells(line: OrderLine) -> tuple[str, str, str, str]:
    return _latin(line.name), str(line.quantity), plain_naira(line.unit_price), plain_naira(line.total)


def _row(pdf: "FPDF", name: str, *numbers: str) -> None:
    """By `text` and `line`: `cell` looks for markup and emoji in each text, for five times the time."""
    if pdf.will_page_break(_ROW_MM):
        pdf.add_page()
    _left(pdf, pdf.l_margin, name)
    for edge_mm, number in zip(_EDGES_MM, numbers, strict=True):
        _right(pdf, pdf.l_margin + edge_mm, number)
    pdf.y += _ROW_MM
    pdf.line(pdf.l_margin, pdf.y, pdf.l_margin + _EDGES_MM[-1], pdf.y)


def _left(pdf: "FPDF", edge_mm: float, text: str, height: float = _ROW_MM) -> None:
    pdf.text(edge_mm + pdf.c_margin, pdf.y + height / 2 + 0.3 * pdf.font_size, text)


def _right(pdf: "FPDF", edge_mm: float, text: str) -> None:
    font = pdf.current_font
    if text and font:
        _, width_pt = font.get_text_width(text, pdf.font_size_pt, None)
        _left(pdf, edge_mm - width_pt / pdf.k - 2 * pdf.c_margin, text)


def _latin(text: str) -> str:
    """The built-in fonts know Latin-1 only; another script's letters become question marks."""
    return text.encode("latin-1", "replace").decode("latin-1")
