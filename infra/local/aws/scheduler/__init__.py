"""Amazon EventBridge Scheduler: one-time and recurring schedules of functions and queues."""

from infra.local.aws.scheduler.service import Scheduler
from infra.local.aws.scheduler.targets import FunctionCall

__all__ = ["FunctionCall", "Scheduler"]
