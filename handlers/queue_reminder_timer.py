"""reminder.set → a timer that rings when it is due: a delayed message, or a schedule."""

from .postroom.aws.queue_entry import queue_handler
from .postroom.jobs import Call, Job, call_job
from .postroom.retries import RetryPolicy
from .providers.timer_aws import AwsTimer
from .shop.reminders import REMINDER_SET, Reminder, ReminderSet, Timer, due_event, reminder_key


@call_job(
    "reminder-timer",
    on=REMINDER_SET,
    retry=RetryPolicy(attempts=40, base_ms=1_000, cap_ms=900_000),
    load=lambda event: {"reminder": reminder_key(event.data.reminder_id)},
)
def set_timer(job: Job[ReminderSet]) -> Call[Timer]:
    reminder = Reminder.from_item(job.require("reminder"))
    if reminder.is_cancelled:
        return Call(lambda _timer: {"timer": "none"})
    name, message = job.event.aggregate, due_event(job.event).to_json()
    return Call(lambda timer: {"timer": timer.set(name, reminder.due, message)})


handler = queue_handler(set_timer, provider=AwsTimer)
