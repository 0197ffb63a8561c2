"""login.requested → the code in the customer's mailbox, or nowhere: after five minutes it is of no use."""

from .postroom.aws.deployment import Deployment
from .postroom.aws.queue_entry import queue_handler
from .postroom.jobs import Call, Job, call_job
from .postroom.retries import RetryPolicy
from .providers import mail_smtp
from .shop.login_codes import LOGIN_REQUESTED, VALID_SECONDS, CodeMailer, Codes, LoginRequested, login_key
from .shop.persons import of_a_person


@call_job(
    "login-codes",
    on=LOGIN_REQUESTED,
    # somebody is waiting for it
    retry=RetryPolicy(attempts=40, base_ms=1_000, cap_ms=30_000, deadline_seconds=VALID_SECONDS),
    load=lambda event: {"login": login_key(event.data.login_id)},
)
def send_code(job: Job[LoginRequested]) -> Call[CodeMailer]:
    login_id, email = job.data.login_id, of_a_person(job.require("login"))["email"]
    asked_at, key = job.event.time, job.idempotency_key
    return Call(lambda codes: {"messageId": codes.send(login_id, email, asked_at, key=key)})


def codes(deployment: Deployment) -> CodeMailer:
    return CodeMailer(mail_smtp.from_deployment(deployment), Codes(deployment.setting("CODE_SECRET")))


handler = queue_handler(send_code, provider=codes)
