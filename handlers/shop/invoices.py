"""The invoice: a PDF of an order, the same bytes however often it is made."""

from bisect import bisect_right
from typing import TYPE_CHECKING

from .money import plain_naira
from .orders import Order, OrderLine

if TYPE_CHECKING:
    from fpdf import FPDF

CONTENT_TYPE = "application/pdf"
_EDGES_MM = (110, 150, 190)
"""The right edges of the columns of numbers, from the left margin."""
_NAME_MM = 88
"""The width of the names, which leaves room for a quantity and its head."""
_ROW_MM = 8
_TITLE_MM = 14
_CUT = "..."
_CONTROLS = dict.fromkeys([*range(0x20), *range(0x7F, 0xA0)], "?")


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
    for line in (f"Order {order.id}", f"Date {order.placed_at:%Y-%m-%d}", f"For {order.email}"):
        _left(pdf, pdf.l_margin, _fitting(pdf, _latin(line), _EDGES_MM[-1]))
        pdf.y += _ROW_MM
    pdf.y += _ROW_MM


def _table(pdf: "FPDF", order: Order) -> None:
    _column_heads(pdf)
    for number, line in enumerate(order.lines, start=1):
        # the total never stands alone on a page
        _make_room(pdf, rows=2 if number == len(order.lines) else 1)
        _row(pdf, *_cells(pdf, line))
    pdf.set_font("Helvetica", "B", 11)
    _row(pdf, "Paid", "", "", plain_naira(order.amount))


def _column_heads(pdf: "FPDF") -> None:
    pdf.set_font("Helvetica", "B", 11)
    _row(pdf, "Item", "Quantity", "Each", "Sum")
    pdf.set_font("Helvetica", size=11)


def _make_room(pdf: "FPDF", rows: int) -> None:
    if pdf.will_page_break(rows * _ROW_MM):
        pdf.add_page()
        _column_heads(pdf)


def _cells(pdf: "FPDF", line: OrderLine) -> tuple[str, str, str, str]:
    name = _fitting(pdf, _latin(line.name), _NAME_MM)
    return name, str(line.quantity), plain_naira(line.unit_price), plain_naira(line.total)


def _row(pdf: "FPDF", name: str, *numbers: str) -> None:
    """By `text` and `line`: `cell` looks for markup and emoji in each text, for five times the time."""
    _left(pdf, pdf.l_margin, name)
    for edge_mm, number in zip(_EDGES_MM, numbers, strict=True):
        _right(pdf, pdf.l_margin + edge_mm, number)
    pdf.y += _ROW_MM
    pdf.line(pdf.l_margin, pdf.y, pdf.l_margin + _EDGES_MM[-1], pdf.y)


def _left(pdf: "FPDF", edge_mm: float, text: str, height: float = _ROW_MM) -> None:
    pdf.text(edge_mm + pdf.c_margin, pdf.y + height / 2 + 0.3 * pdf.font_size, text)


def _right(pdf: "FPDF", edge_mm: float, text: str) -> None:
    if text:
        _left(pdf, edge_mm - _width_mm(pdf, text) - 2 * pdf.c_margin, text)


def _fitting(pdf: "FPDF", text: str, column_mm: float) -> str:
    """The text, or as much of its beginning as fits into the column with dots behind it."""
    most_mm = column_mm - 2 * pdf.c_margin
    if _width_mm(pdf, text) <= most_mm:
        return text
    lengths = range(len(text))
    fitting = bisect_right(lengths, most_mm, key=lambda length: _width_mm(pdf, text[:length] + _CUT))
    return text[: fitting - 1] + _CUT


def _width_mm(pdf: "FPDF", text: str) -> float:
    font = pdf.current_font
    return font.get_text_width(text, pdf.font_size_pt, None)[1] / pdf.k if font else 0.0


def _latin(text: str) -> str:
    """The built-in fonts know Latin-1 only; another script's letters, and controls, become question marks."""
    return text.encode("latin-1", "replace").decode("latin-1").translate(_CONTROLS)
