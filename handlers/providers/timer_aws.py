"""Timers: a delayed message up to 15 minutes ahead, a one-time schedule of EventBridge Scheduler beyond."""

import logging
import math
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from ..postroom.aws.deployment import Deployment
from ..postroom.aws.sdk_errors import code_of, no_answer
from ..postroom.errors import Transient

logger = logging.getLogger("postroom.timer")

LONGEST_DELAY_SECONDS = 900
"""docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessage.html"""
KEEP_TRYING_SECONDS = 86_400
"""docs.aws.amazon.com/scheduler/latest/APIReference/API_RetryPolicy.html: the longest."""
_CONFLICT = "ConflictException"


@dataclass(frozen=True, slots=True)
class AwsTimer:
    """Rings by a message in the queue that the environment names (`TIMED_QUEUE_URL`, `TIMED_QUEUE_ARN`).

    A schedule rings within the minute of its time, and deletes itself then.
    docs.aws.amazon.com/scheduler/latest/UserGuide/schedule-types.html
    """

    deployment: Deployment

    def set(self, name: str, due: datetime, message: str) -> str:
        ahead_seconds = math.ceil(due.timestamp() - self.deployment.clock())
        if ahead_seconds > LONGEST_DELAY_SECONDS:
            self._schedule(name, due, message)
            return "schedule"
        self._ask("sqs", "send_message", **self._delayed(max(0, ahead_seconds), message))
        return "delay"

    def clear(self, name: str) -> None:
        from botocore.exceptions import BotoCoreError, ClientError

        group = self.deployment.setting("SCHEDULE_GROUP")
        scheduler = self.deployment.client("scheduler")
        try:
            scheduler.delete_schedule(GroupName=group, Name=name)
        except (ClientError, BotoCoreError) as error:
            if code_of(error) == "ResourceNotFoundException":
                logger.info("timer.no_schedule", extra={"timer": name})
            else:
                logger.warning("timer.not_cleared", exc_info=error, extra={"timer": name})

    def _delayed(self, seconds: int, message: str) -> dict[str, Any]:
        return {
            "QueueUrl": self.deployment.setting("TIMED_QUEUE_URL"),
            "MessageBody": message,
            "DelaySeconds": seconds,
        }

    def _schedule(self, name: str, due: datetime, message: str) -> None:
        from botocore.exceptions import ClientError

        try:
            self._ask("scheduler", "create_schedule", **self._one_time(name, due, message))
        except ClientError:
            # a conflict, as all else is transient: an earlier run of this job made it, the name says so
            logger.info("timer.set_before", extra={"timer": name})

    def _one_time(self, name: str, due: datetime, message: str) -> dict[str, Any]:
        setting = self.deployment.setting
        return {
            "GroupName": setting("SCHEDULE_GROUP"),
            "Name": name,
            "ScheduleExpression": f"at({due.astimezone(UTC):%Y-%m-%dT%H:%M:%S})",
            "ScheduleExpressionTimezone": "UTC",
            "FlexibleTimeWindow": {"Mode": "OFF"},
            "ActionAfterCompletion": "DELETE",
            "Target": {
                "Arn": setting("TIMED_QUEUE_ARN"),
                "RoleArn": setting("SCHEDULE_ROLE_ARN"),
                "Input": message,
                "RetryPolicy": {"MaximumEventAgeInSeconds": KEEP_TRYING_SECONDS},
                "DeadLetterConfig": {"Arn": setting("SCHEDULE_FAILURES_ARN")},
            },
        }

    def _ask(self, service: str, operation: str, **request: Any) -> None:
        from botocore.exceptions import ClientError

        client = self.deployment.client(service)
        try:
            getattr(client, operation)(**request)
        except no_answer() as error:
            raise Transient(f"the timer cannot be set: {type(error).__name__}") from error
        except ClientError as error:
            code = code_of(error)
            if code == _CONFLICT:
                raise
            raise Transient(f"the timer cannot be set: {code}") from error
