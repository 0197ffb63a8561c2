"""reminder.due → the reminder in the customer's mailbox, unless it was cancelled."""

from .postroom.aws.queue_entry import queue_handler
from .postroom.jobs import Call, Job, call_job
from .postroom.retries import RetryPolicy
from .postroom.storage import Update
from .providers import mail_smtp
from .shop.ports import Mailer
from .shop.reminders import REMINDER_DUE, Reminder, ReminderDue, reminder_key

DAY_SECONDS = 24 * 3600


@call_job(
    "reminders",
    on=REMINDER_DUE,
    retry=RetryPolicy(attempts=40, base_ms=1_000, cap_ms=3_600_000, deadline_seconds=DAY_SECONDS),
    load=lambda event: {"reminder": reminder_key(event.data.reminder_id)},
)
def send_reminder(job: Job[ReminderDue]) -> Call[Mailer]:
    reminder = Reminder.from_item(job.require("reminder"))
    if reminder.is_cancelled:
        return Call(lambda _mailer: {"sent": False})
    mail, sent = reminder.mail, Update(reminder_key(reminder.id), set={"sent": True})
    return Call(
        lambda mailer: {"sent": True, "messageId": mailer.send(mail, key=job.idempotency_key)}, then=[sent]
    )


handler = queue_handler(send_reminder, provider=mail_smtp.from_deployment)
