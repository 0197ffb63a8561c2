"""order.paid → an entry among its hour's sales, from which the nightly roll-up sums."""

from .postroom.aws.queue_entry import queue_handler
from .postroom.jobs import Commit, Job, commit_job
from .postroom.retries import RetryPolicy
from .shop.orders import ORDER_PAID, OrderPaid
from .shop.sales import sale_key_of_event, sale_of


@commit_job(
    "sales",
    on=ORDER_PAID,
    retry=RetryPolicy(attempts=10, base_ms=1_000, cap_ms=900_000),
    marker=sale_key_of_event,
)
def enter_sale(job: Job[OrderPaid]) -> Commit:
    return Commit([sale_of(job.event)], result={"amount": job.data.amount})


handler = queue_handler(enter_sale)
