"""/webhooks: where a caller wants to be told how her jobs end."""

import secrets

from .postroom.aws.deployment import Deployment
from .postroom.aws.http_entry import http_entry
from .postroom.aws.tables import DynamoStore
from .postroom.http import Respond
from .postroom.webhooks.api import WebhooksApi
from .postroom.webhooks.signing import SECRET_BYTES, secret_of
from .providers.webhook_https import reach_of


def build(deployment: Deployment) -> Respond:
    return WebhooksApi(
        DynamoStore(deployment),
        deployment.clock,
        new_secret=lambda: secret_of(secrets.token_bytes(SECRET_BYTES)),
        reach=reach_of(deployment),
    )


handler = http_entry(build)
