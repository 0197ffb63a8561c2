"""The invoice: a PDF of an order, the same bytes however often it is made."""

from typing import TYPE_CHECKING

from .money import plain_naira
from .orders import Order, OrderLine

if TYPE_CHECKING:
    from fpdf import FPDF

CONTENT_TYPE = "application/pdf"
_WIDTHS_MM = (90, 20, 40, 40)
_ROW_MM = 8


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
    pdf.cell(0, 14, "Invoice", new_x="LMARGIN", new_y="NEXT")
    pdf.set_font("Helvetica", size=11)
    for line in (f"Order {order.id}", f"Date {order.placed_at:%Y-%m-%d}", f"For {_latin(order.email)}"):
        pdf.cell(0, _ROW_MM, line, new_x="LMARGIN", new_y="NEXT")
    pdf.ln(_ROW_MM)


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


def _row(pdf: "FPDF", *cells: str) -> None:
    for index, (width, text) in enumerate(zip(_WIDTHS_MM, cells, strict=True)):
        last = index == len(cells) - 1
        pdf.cell(
            width,
            _ROW_MM,
            text,
            border="B",
            align="L" if index == 0 else "R",
            new_x="LMARGIN" if last else "RIGHT",
            new_y="NEXT" if last else "TOP",
        )


def _latin(text: str) -> str:
    """The built-in fonts know Latin-1 only; another script's letters become question marks."""
    return text.encode("latin-1", "replace").decode("latin-1")
