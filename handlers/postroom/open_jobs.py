"""How long jobs have been open, as the table tells it.

SQS's own figure leaves out the messages that it has handed out three times or more.
docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-available-cloudwatch-metrics.html
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

LISTED_STATES = ("retrying", "parked")
"""The open states that the index lists. A job that no run has failed yet is in its queue only."""
LOOKED_AT = 1_000
"""Entries read of each state, oldest first: beyond them are jobs that are younger than all of these."""


class OpenJob(NamedTuple):
    """`since` is when its state began, in epoch milliseconds."""

    subscriber: str
    since: int


class OpenJobs(Protocol):
    def oldest(self, state: str, limit: int) -> Sequence[OpenJob]:
        """Jobs of all subscribers in one state, the oldest first."""


def oldest_open_seconds(jobs: OpenJobs, now: float) -> Mapping[str, float]:
    """The age of each subscriber's oldest job that is retrying or parked, for those that have one.

    `now` is epoch seconds.
    """
    found = [job for state in LISTED_STATES for job in jobs.oldest(state, LOOKED_AT)]
    by_age = sorted(found, key=lambda job: job.since, reverse=True)
    return {job.subscriber: max(0.0, now - job.since / 1000) for job in by_age}
