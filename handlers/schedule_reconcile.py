"""Give back, every five minutes, each charge that has come to no order."""

from .postroom.aws.deployment import Deployment
from .postroom.aws.entry import Entry, LambdaHandler
from .postroom.aws.tables import DynamoStore
from .providers import cards_http
from .shop.reconcile import Reconciliation


def build(deployment: Deployment) -> LambdaHandler:
    reconciliation = Reconciliation(
        cards_http.from_deployment(deployment),
        DynamoStore(deployment),
        min_age_seconds=60 * int(deployment.setting("RECONCILE_AFTER_MINUTES")),
    )
    return lambda _event, context: reconciliation.run(
        deployment.clock(), context.get_remaining_time_in_millis
    )


handler = Entry(build)
