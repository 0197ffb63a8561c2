"""order.shipped → an SMS to the customer."""

from .postroom.aws.queue_entry import queue_handler
from .postroom.jobs import Call, InDoubt, Job, call_job
from .postroom.retries import RetryPolicy
from .providers import sms_sns
from .shop.orders import order_key
from .shop.persons import of_a_person
from .shop.ports import Phones
from .shop.shipping import ORDER_SHIPPED, OrderShipped, text_for


@call_job(
    "shipping-sms",
    on=ORDER_SHIPPED,
    retry=RetryPolicy(attempts=10, base_ms=1_000, cap_ms=900_000, deadline_seconds=24 * 3600),
    load=lambda event: {"order": order_key(event.data.order_id)},
    # SMS knows no key to deduplicate by: when in doubt, two are better than none
    claim=InDoubt.RETRY,
)
def send_text(job: Job[OrderShipped]) -> Call[Phones]:
    order = of_a_person(job.require("order"))
    return Call(lambda phones: {"messageId": phones.text(order["phone"], text_for(order))})


handler = queue_handler(send_text, provider=sms_sns.from_deployment)
