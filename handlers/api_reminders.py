"""/reminders: set one for a time ahead, list the caller's, cancel one."""

from datetime import UTC, datetime

from .postroom.acceptance import Acceptance
from .postroom.aws.deployment import Deployment
from .postroom.aws.http_entry import http_entry
from .postroom.aws.listed_index import DynamoLists
from .postroom.aws.tables import DynamoStore
from .postroom.http import Respond
from .providers.timer_aws import AwsTimer
from .shop.reminder_lists import ReminderCancel, ReminderList
from .shop.reminders import reminders


def build(deployment: Deployment) -> Respond:
    store = DynamoStore(deployment)
    by_method: dict[str, Respond] = {
        "POST": Acceptance(reminders(), store, lambda: datetime.fromtimestamp(deployment.clock(), UTC)),
        "GET": ReminderList(DynamoLists(store)),
        "DELETE": ReminderCancel(store, AwsTimer(deployment), deployment.clock),
    }
    return lambda request: by_method[request.method](request)


handler = http_entry(build)
