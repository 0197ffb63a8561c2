"""POST /online, GET /online: how many customers are here now, at most once on purpose."""

from .postroom.aws.deployment import Deployment
from .postroom.aws.http_entry import http_entry
from .postroom.aws.tables import DynamoStore
from .postroom.http import Respond
from .shop.online import Online


def build(deployment: Deployment) -> Respond:
    return Online(DynamoStore(deployment.without_resend()), deployment.clock)


handler = http_entry(build)
