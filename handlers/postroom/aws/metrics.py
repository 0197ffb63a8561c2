"""Metrics, as log lines in CloudWatch's embedded format: they cost no call and no write unit.

Which there are, and by what they are told apart, is fixed here: nothing of an order or a person is in them.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from typing import TYPE_CHECKING

from .deployment import Deployment

if TYPE_CHECKING:
    from aws_lambda_powertools.metrics.provider.cloudwatch_emf.cloudwatch import AmazonCloudWatchEMFProvider

VALUES_PER_LINE = 99
"""CloudWatch drops what a line has beyond 100 values of a metric, and Powertools prints by itself at 100.
docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html"""


class Metric(Enum):
    """A metric's name, and what its values are in."""

    JOBS_COMPLETED = ("JobsCompleted", "Count")
    ATTEMPTS_FAILED = ("AttemptsFailed", "Count")
    """Runs that failed, whether the job is tried again or dead."""
    JOBS_DEAD = ("JobsDead", "Count")
    JOBS_EXPIRED = ("JobsExpired", "Count")
    JOB_SECONDS = ("JobSeconds", "Seconds")
    """From the message's sending to the job's end, of those that complete."""
    OLDEST_OPEN_SECONDS = ("OldestOpenSeconds", "Seconds")
    """Of the job that has been retrying or parked for the longest."""
    OUTBOX_LAG_SECONDS = ("OutboxLagSeconds", "Seconds")
    """Of the oldest event that the relay has left to the sweep."""
    OUTBOX_REFUSED_SECONDS = ("OutboxRefusedSeconds", "Seconds")
    """Of the oldest event that the topic will never take."""
    RELAY_SECONDS = ("RelaySeconds", "Seconds")
    """From an event's writing to its publication; the stream tells the former to the second."""
    RELAY_REWINDS = ("RelayRewinds", "Count")
    """Batches of the stream that went back because an event could not be published."""


class Measured:
    """Takes values of metrics down, and writes them in lines of at most `VALUES_PER_LINE`."""

    def __init__(self, deployment: Deployment, subscriber: str = "") -> None:
        self._deployment = deployment
        self._namespace = deployment.environ.get("METRICS_NAMESPACE", "")
        self._subscriber = subscriber
        self._line: AmazonCloudWatchEMFProvider | None = None
        self._values = 0

    def add(self, metric: Metric, value: float = 1) -> None:
        """Nothing is taken down where nobody watches: without a namespace."""
        if not self._namespace:
            return
        name, unit = metric.value
        self._line = self._line or self._new_line()
        self._line.add_metric(name=name, unit=unit, value=value)
        self._values += 1
        if self._values == VALUES_PER_LINE:
            self.write()

    def write(self) -> None:
        if self._line is not None:
            self._deployment.emit(json.dumps(self._line.serialize_metric_set(), separators=(",", ":")))
        self._line, self._values = None, 0

    def _new_line(self) -> "AmazonCloudWatchEMFProvider":
        """Of the whole stack, and of its subscriber besides."""
        from aws_lambda_powertools.metrics.provider.cloudwatch_emf.cloudwatch import (
            AmazonCloudWatchEMFProvider,
        )

        line = AmazonCloudWatchEMFProvider(namespace=self._namespace)
        line.timestamp = int(self._deployment.clock() * 1000)
        if self._subscriber:
            line.add_dimensions(subscriber=self._subscriber)
        return line


@contextmanager
def measured(deployment: Deployment, subscriber: str = "") -> Iterator[Measured]:
    """What is added is written when the block ends, however it ends."""
    values = Measured(deployment, subscriber)
    try:
        yield values
    finally:
        values.write()
