"""Amazon SQS: standard and FIFO queues with leases, redrive and policies."""

from infra.local.aws.sqs.queue import Queue
from infra.local.aws.sqs.service import Sqs

__all__ = ["Queue", "Sqs"]
