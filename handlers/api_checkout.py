"""POST /checkout: the card is charged, the order is written with its event, and the answer is 202."""

from datetime import UTC, datetime

from .postroom.acceptance import Acceptance
from .postroom.aws.deployment import Deployment
from .postroom.aws.http_entry import http_entry
from .postroom.aws.tables import DynamoStore
from .postroom.http import Respond
from .providers import cards_http
from .shop.checkout import checkout


def build(deployment: Deployment) -> Respond:
    return Acceptance(
        work=checkout(cards_http.from_deployment(deployment)),
        store=DynamoStore(deployment),
        now=lambda: datetime.fromtimestamp(deployment.clock(), UTC),
    )


handler = http_entry(build)
