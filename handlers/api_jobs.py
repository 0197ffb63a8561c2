"""/jobs: what has become of an event or of one job of it, the jobs in trouble, and how to cancel one."""

from .postroom.aws.deployment import Deployment
from .postroom.aws.http_entry import http_entry
from .postroom.aws.job_index import DynamoJobIndex
from .postroom.aws.tables import DynamoStore
from .postroom.cancellation import Cancellation
from .postroom.discovery import job_types
from .postroom.http import Respond
from .postroom.job_lists import JobLists
from .postroom.jobs_api import JobsApi
from .postroom.status import JobStatus


def build(deployment: Deployment) -> Respond:
    store, subscribers = DynamoStore(deployment), job_types(__package__)
    return JobsApi(
        status=JobStatus(store, subscribers),
        lists=JobLists(DynamoJobIndex(store), store, subscribers),
        cancel=Cancellation(store, subscribers, deployment.clock),
    )


handler = http_entry(build)
