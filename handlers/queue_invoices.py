"""order.paid → the invoice as a PDF file."""

from .postroom.aws.queue_entry import queue_handler
from .postroom.jobs import Call, Job, call_job
from .postroom.retries import RetryPolicy
from .providers import files_s3
from .providers.files_s3 import Files
from .shop.invoices import CONTENT_TYPE, invoice_name, invoice_pdf
from .shop.orders import ORDER_PAID, Order, OrderPaid, order_key


@call_job(
    "invoices",
    on=ORDER_PAID,
    retry=RetryPolicy(attempts=10, base_ms=1_000, cap_ms=900_000),
    load=lambda event: {"order": order_key(event.data.order_id)},
    needs_ms=12_000,
)
def store_invoice(job: Job[OrderPaid]) -> Call[Files]:
    order = Order.from_item(job.require("order")).of_a_person
    pdf = invoice_pdf(order)
    return Call(lambda files: {"location": files.put(invoice_name(order), pdf, CONTENT_TYPE)})


handler = queue_handler(store_invoice, provider=files_s3.from_deployment)
