"""The watch's Lambda handler."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..discovery import job_types
from ..jobs import JobType
from ..open_jobs import oldest_open_seconds
from ..watch import Watch
from .dead_letters import SqsDeadLetters
from .deployment import Deployment
from .entry import Entry, LambdaContext, LambdaHandler
from .metrics import Metric, measured
from .open_index import DynamoOpenJobs
from .tables import DynamoStore


def watch_handler(package: str) -> Entry:
    """Watches the dead-letter queue of every subscriber of a package; returns what it found."""
    return watching(lambda: job_types(package))


def watching(
    kinds: Callable[[], Sequence[JobType[Any]]], store_of: Callable[[Deployment], DynamoStore] = DynamoStore
) -> Entry:
    """The same for these types of jobs. `store_of` makes the tables that it works on."""

    def build(deployment: Deployment) -> LambdaHandler:
        store = store_of(deployment)
        watch, open_jobs = Watch(store, deployment.clock), DynamoOpenJobs(store)
        queues = [
            (each, SqsDeadLetters(deployment, each.subscriber, ordered=each.is_ordered)) for each in kinds()
        ]

        def handle(_event: Any, context: LambdaContext) -> Mapping[str, int]:
            counts = watch.run(queues, context.get_remaining_time_in_millis)
            if counts.get("closed"):
                with measured(deployment) as values:
                    values.add(Metric.JOBS_DEAD, counts["closed"])
            for subscriber, seconds in oldest_open_seconds(open_jobs, deployment.clock()).items():
                with measured(deployment, subscriber) as values:
                    values.add(Metric.OLDEST_OPEN_SECONDS, seconds)
            return counts

        return handle

    return Entry(build)
