"""A small AWS in memory: what local runs and tests need, no more, reached by ordinary boto3 clients."""

from infra.local.aws.clock import Clock, ManualClock, SystemClock
from infra.local.aws.errors import AwsError
from infra.local.aws.meter import Call
from infra.local.aws.model import LocalAws

__all__ = ["AwsError", "Call", "Clock", "LocalAws", "ManualClock", "SystemClock"]
