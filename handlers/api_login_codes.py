"""POST /login-codes, and /login-codes/{id}/use: a code is asked for, and used once."""

from .postroom.acceptance import Acceptance
from .postroom.aws.deployment import Deployment
from .postroom.aws.http_entry import http_entry, now_of
from .postroom.aws.tables import DynamoStore
from .postroom.http import Respond, Routes
from .shop.login_codes import USE, Codes, CodeUse, login_codes


def build(deployment: Deployment) -> Respond:
    store, codes = DynamoStore(deployment), Codes(deployment.setting("CODE_SECRET"))
    work = login_codes(codes)
    return Routes(
        {
            work.route: Acceptance(work, store, lambda: now_of(deployment)),
            USE.route: CodeUse(store, codes, deployment.clock),
        }
    )


handler = http_entry(build)
