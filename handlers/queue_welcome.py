"""customer.signed_up → a welcome in the new customer's mailbox, one for each customer."""

from .postroom.aws.queue_entry import queue_handler
from .postroom.jobs import Call, Job, call_job
from .postroom.retries import RetryPolicy
from .providers import mail_smtp
from .shop.customers import CUSTOMER_SIGNED_UP, Customer, CustomerSignedUp, customer_key
from .shop.ports import Mailer
from .shop.welcome import welcome_for, welcome_key


@call_job(
    "welcome",
    on=CUSTOMER_SIGNED_UP,
    # a welcome that is a day late is still one
    retry=RetryPolicy(attempts=40, base_ms=1_000, cap_ms=3_600_000),
    load=lambda event: {"customer": customer_key(event.data.customer_id)},
)
def send_welcome(job: Job[CustomerSignedUp]) -> Call[Mailer]:
    customer = Customer.from_item(job.require("customer"))
    mail = welcome_for(customer, job.event.time)
    return Call(lambda mailer: {"messageId": mailer.send(mail, key=welcome_key(customer))})


handler = queue_handler(send_welcome, provider=mail_smtp.from_deployment)
