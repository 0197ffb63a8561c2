"""order.paid → one pick in the warehouse, which is its own processed marker."""

from .postroom.aws.queue_entry import queue_handler
from .postroom.jobs import Commit, Job, commit_job
from .postroom.retries import RetryPolicy
from .shop.orders import ORDER_PAID, Order, OrderPaid, order_key
from .shop.warehouse import pick_for, pick_key_of_event


@commit_job(
    "warehouse",
    on=ORDER_PAID,
    retry=RetryPolicy(attempts=10, base_ms=1_000, cap_ms=900_000),
    load=lambda event: {"order": order_key(event.data.order_id)},
    marker=pick_key_of_event,
)
def request_pick(job: Job[OrderPaid]) -> Commit:
    order = Order.from_item(job.require("order"))
    return Commit([pick_for(order)], result={"pick": f"pick-{order.id}"})


handler = queue_handler(request_pick)
