"""order.paid → a person takes a second look at large orders, asked for once."""

from datetime import UTC, datetime

from .postroom.aws.queue_entry import queue_handler
from .postroom.errors import AlreadyDone
from .postroom.jobs import Commit, Job, commit_job
from .postroom.storage import Key, Put
from .shop.orders import ORDER_PAID, OrderPaid

REVIEWED_FROM = 1_000_000
"""₦10,000, in kobo."""


@commit_job("fraud", on=ORDER_PAID, since=datetime(2026, 12, 1, tzinfo=UTC))
def request_review(job: Job[OrderPaid]) -> Commit:
    if job.data.amount < REVIEWED_FROM:
        return Commit([], result={"review": "not needed"})
    key = Key("shop", job.event.aggregate, "review")
    review = Put(key, {"amount": job.data.amount}, refused=AlreadyDone("the review is asked for"))
    return Commit([review], result={"review": "requested"})


handler = queue_handler(request_review)
