"""POST /password-resets, and /password-resets/{token}/use: a link is asked for, and used once."""

from .postroom.acceptance import Acceptance
from .postroom.aws.deployment import Deployment
from .postroom.aws.http_entry import http_entry, now_of
from .postroom.aws.tables import DynamoStore
from .postroom.http import Respond, Routes
from .shop.password_resets import USE, ResetUse, Tokens, password_reset


def build(deployment: Deployment) -> Respond:
    store, tokens = DynamoStore(deployment), Tokens(deployment.setting("LINK_SECRET"))
    work = password_reset(store, tokens)
    return Routes(
        {
            work.route: Acceptance(work, store, lambda: now_of(deployment)),
            USE.route: ResetUse(store, deployment.clock),
        }
    )


handler = http_entry(build)
