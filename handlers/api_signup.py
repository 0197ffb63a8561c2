"""POST /signup: the customer is written with the event that a welcome follows from; the answer is 202."""

from .postroom.acceptance import Acceptance
from .postroom.aws.deployment import Deployment
from .postroom.aws.http_entry import http_entry, now_of
from .postroom.aws.tables import DynamoStore
from .postroom.http import Respond
from .shop.signup import SIGN_UP


def build(deployment: Deployment) -> Respond:
    return Acceptance(SIGN_UP, DynamoStore(deployment), lambda: now_of(deployment))


handler = http_entry(build)
