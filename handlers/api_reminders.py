"""/reminders: set one for a time ahead, list the caller's, cancel one."""

from .postroom.acceptance import Acceptance
from .postroom.aws.deployment import Deployment
from .postroom.aws.http_entry import http_entry, now_of
from .postroom.aws.listed_index import DynamoLists
from .postroom.aws.tables import DynamoStore
from .postroom.http import Respond, Routes
from .providers.timer_aws import AwsTimer
from .shop.reminder_lists import CANCEL, LIST, ReminderCancel, ReminderList
from .shop.reminders import reminders


def build(deployment: Deployment) -> Respond:
    store = DynamoStore(deployment)
    work = reminders()
    return Routes(
        {
            work.route: Acceptance(work, store, lambda: now_of(deployment)),
            LIST.route: ReminderList(DynamoLists(store)),
            CANCEL.route: ReminderCancel(store, AwsTimer(deployment), deployment.clock),
        }
    )


handler = http_entry(build)
