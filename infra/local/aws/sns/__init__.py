"""Amazon SNS: standard topics that deliver to SQS queues."""

from infra.local.aws.sns.service import Sns
from infra.local.aws.sns.topic import Subscription, Topic

__all__ = ["Sns", "Subscription", "Topic"]
