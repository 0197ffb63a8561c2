"""POST /campaigns: one mail to everybody in an audience. The campaign is written with its event: 202."""

from datetime import UTC, datetime

from .postroom.acceptance import Acceptance
from .postroom.aws.deployment import Deployment
from .postroom.aws.http_entry import http_entry
from .postroom.aws.tables import DynamoStore
from .postroom.http import Respond
from .shop.campaigns import campaigns


def build(deployment: Deployment) -> Respond:
    store = DynamoStore(deployment)
    return Acceptance(
        work=campaigns(store),
        store=store,
        now=lambda: datetime.fromtimestamp(deployment.clock(), UTC),
    )


handler = http_entry(build)
