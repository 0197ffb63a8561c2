"""order.paid → a receipt in the customer's mailbox."""

from .postroom.aws.queue_entry import queue_handler
from .postroom.jobs import Call, Job, call_job
from .postroom.retries import RetryPolicy
from .providers import mail_smtp
from .shop.orders import ORDER_PAID, Order, OrderPaid, order_key
from .shop.ports import Mailer
from .shop.receipts import receipt_for


@call_job(
    "receipts",
    on=ORDER_PAID,
    # a receipt that is a day late is still worth sending
    retry=RetryPolicy(attempts=40, base_ms=1_000, cap_ms=3_600_000),
    load=lambda event: {"order": order_key(event.data.order_id)},
)
def send_receipt(job: Job[OrderPaid]) -> Call[Mailer]:
    receipt = receipt_for(Order.from_item(job.require("order")).of_a_person)
    return Call(lambda mailer: {"messageId": mailer.send(receipt, key=job.idempotency_key)})


handler = queue_handler(send_receipt, provider=mail_smtp.from_deployment)
