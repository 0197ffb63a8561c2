"""reset.requested → the link in the customer's mailbox, on a lane of its own: nothing bulky is ahead."""

from .postroom.aws.deployment import Deployment
from .postroom.aws.queue_entry import queue_handler
from .postroom.jobs import Call, Job, call_job
from .postroom.retries import RetryPolicy
from .providers import mail_smtp
from .shop.customers import Customer, customer_key
from .shop.password_resets import RESET_REQUESTED, VALID_SECONDS, LinkMailer, ResetRequested, Tokens


@call_job(
    "password-reset",
    on=RESET_REQUESTED,
    # somebody is waiting for it; once the link has run out, it is of no use
    retry=RetryPolicy(attempts=40, base_ms=1_000, cap_ms=120_000, deadline_seconds=VALID_SECONDS),
    load=lambda event: {"customer": customer_key(event.data.customer_id)},
)
def send_link(job: Job[ResetRequested]) -> Call[LinkMailer]:
    customer, asked_at = Customer.from_item(job.require("customer")), job.event.time
    reset_id, key = job.data.reset_id, job.idempotency_key
    return Call(lambda links: {"messageId": links.send(reset_id, customer, asked_at, key=key)})


def links(deployment: Deployment) -> LinkMailer:
    tokens = Tokens(deployment.setting("LINK_SECRET"))
    return LinkMailer(mail_smtp.from_deployment(deployment), tokens, deployment.setting("RESET_URL"))


handler = queue_handler(send_link, provider=links)
