"""GET /jobs/{id}: what has become of an event, or of one job of it, for whoever it belongs to."""

from .postroom.aws.deployment import Deployment
from .postroom.aws.http_entry import http_entry
from .postroom.aws.tables import DynamoStore
from .postroom.discovery import job_types
from .postroom.http import Respond
from .postroom.status import JobStatus


def build(deployment: Deployment) -> Respond:
    return JobStatus(DynamoStore(deployment), job_types(__package__))


handler = http_entry(build)
