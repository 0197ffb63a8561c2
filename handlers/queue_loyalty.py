"""order.paid → loyalty points, credited once per order."""

from .postroom.aws.queue_entry import queue_handler
from .postroom.jobs import Commit, Job, commit_job
from .postroom.retries import RetryPolicy
from .shop.loyalty import credit, points_for
from .shop.orders import ORDER_PAID, OrderPaid


@commit_job("loyalty", on=ORDER_PAID, retry=RetryPolicy(attempts=10, base_ms=1_000, cap_ms=900_000))
def credit_points(job: Job[OrderPaid]) -> Commit:
    return Commit([credit(job.event)], result={"points": points_for(job.data.amount)})


handler = queue_handler(credit_points)
