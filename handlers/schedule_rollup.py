"""Sum up, at 02:00 of a named time zone, the sales of every business date that is over."""

from zoneinfo import ZoneInfo

from .postroom.aws.deployment import Deployment
from .postroom.aws.entry import Entry, LambdaHandler
from .postroom.aws.listed_index import DynamoLists
from .postroom.aws.tables import DynamoStore
from .shop.rollup import RollUp


def build(deployment: Deployment) -> LambdaHandler:
    store = DynamoStore(deployment)
    roll_up = RollUp(store, DynamoLists(store), ZoneInfo(deployment.setting("ROLLUP_TIME_ZONE")))
    return lambda _event, context: roll_up.run(deployment.clock(), context.get_remaining_time_in_millis)


handler = Entry(build)
