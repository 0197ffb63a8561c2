"""POST /login-codes, and /login-codes/{id}/use: a code is asked for, and used once."""

from datetime import UTC, datetime

from .postroom.acceptance import Acceptance
from .postroom.aws.deployment import Deployment
from .postroom.aws.http_entry import http_entry
from .postroom.aws.tables import DynamoStore
from .postroom.http import Respond
from .shop.login_codes import Codes, CodeUse, login_codes


def build(deployment: Deployment) -> Respond:
    store, codes = DynamoStore(deployment), Codes(deployment.setting("CODE_SECRET"))
    ask = Acceptance(login_codes(codes), store, lambda: datetime.fromtimestamp(deployment.clock(), UTC))
    use = CodeUse(store, codes, deployment.clock)
    return lambda request: use(request) if "id" in request.path_parameters else ask(request)


handler = http_entry(build)
