"""POST /parcels: the parcel is written with the event that its notice follows from; the answer is 202."""

from .parcels.parcels import SEND
from .postroom.acceptance import Acceptance
from .postroom.aws.deployment import Deployment
from .postroom.aws.http_entry import http_entry, now_of
from .postroom.aws.tables import DynamoStore
from .postroom.http import Respond


def build(deployment: Deployment) -> Respond:
    return Acceptance(SEND, DynamoStore(deployment), lambda: now_of(deployment))


handler = http_entry(build)
