"""The watch's Lambda handler."""

from ..discovery import job_types
from ..watch import Watch
from .dead_letters import SqsDeadLetters
from .deployment import Deployment
from .entry import Entry, LambdaHandler
from .tables import DynamoStore


def watch_handler(package: str) -> Entry:
    """Watches the dead-letter queue of every subscriber of a package; returns what it found."""

    def build(deployment: Deployment) -> LambdaHandler:
        watch = Watch(DynamoStore(deployment), deployment.clock)
        queues = [
            (each, SqsDeadLetters(deployment, each.subscriber, ordered=each.is_ordered))
            for each in job_types(package)
        ]
        return lambda _event, context: watch.run(queues, context.get_remaining_time_in_millis)

    return Entry(build)
