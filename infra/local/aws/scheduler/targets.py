"""Where schedules lead: Lambda functions, which are invoked asynchronously, and SQS queues.

https://docs.aws.amazon.com/scheduler/latest/UserGuide/managing-targets-templated.html
"""

import datetime
import json
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from infra.local.aws.clock import MILLISECONDS
from infra.local.aws.errors import AwsError
from infra.local.aws.region import Region
from infra.local.aws.scheduler.schedule import Run
from infra.local.aws.sqs import Sqs

_NOT_FOUND = 404


@dataclass(frozen=True)
class FunctionCall:
    """An asynchronous invocation that Lambda has accepted: whoever plays Lambda makes it."""

    function_arn: str
    schedule_arn: str
    event: Any


class Targets:
    """What schedules can reach.

    `functions` holds the ARNs of those that exist. What one of them answers, or raises, is Lambda's affair
    and no failure of the schedule: https://docs.aws.amazon.com/lambda/latest/dg/with-eventbridge-scheduler.html
    """

    def __init__(self, region: Region, sqs: Sqs) -> None:
        self._region = region
        self._sqs = sqs
        self.functions: set[str] = set()
        self._calls: deque[FunctionCall] = deque()

    def take_call(self, wanted: Callable[[FunctionCall], bool]) -> FunctionCall | None:
        """The oldest wanted call, which is the taker's to make."""
        call = next((call for call in self._calls if wanted(call)), None)
        if call is not None:
            self._calls.remove(call)
        return call

    def deliver(self, run: Run) -> None:
        """Hand a run to its target; raises AwsError when that does not take it."""
        self._region.switches.refuse_if_throttled("scheduler", "Invoke")
        arn = run.target["Arn"]
        if arn.split(":")[2] == "sqs":
            self._sqs.send_message(self.request(run))
            return
        if arn not in self.functions:
            raise AwsError("AWSLambda.ResourceNotFoundException", f"Function not found: {arn}", _NOT_FOUND)
        self._calls.append(FunctionCall(arn, run.schedule.arn, json.loads(self._input(run))))
        self._region.changed.notify_all()

    def bury(self, run: Run, error: AwsError, condition: str) -> None:
        """Send what the target never took to the schedule's dead-letter queue, if it has one.

        https://docs.aws.amazon.com/scheduler/latest/UserGuide/configuring-schedule-dlq.html
        """
        config = run.target.get("DeadLetterConfig")
        if not config:
            return
        told = {
            "ERROR_CODE": error.code,
            "ERROR_MESSAGE": error.message,
            "EXECUTION_ID": self._region.new_id(),
            "EXHAUSTED_RETRY_CONDITION": condition,
            "IS_PAYLOAD_TRUNCATED": "false",
            "RETRY_ATTEMPTS": str(run.attempts - 1),
            "SCHEDULED_TIME": _iso(run.scheduled_ms),
            "SCHEDULE_ARN": run.schedule.arn,
            "TARGET_ARN": run.target["Arn"],
        }
        attributes = {name: {"DataType": "String", "StringValue": value} for name, value in told.items()}
        body = json.dumps(self.request(run))
        letter = {"QueueUrl": config["Arn"], "MessageBody": body, "MessageAttributes": attributes}
        with suppress(AwsError):
            self._sqs.send_message(letter)

    def request(self, run: Run) -> dict[str, Any]:
        """The request that the target gets."""
        arn = run.target["Arn"]
        if arn.split(":")[2] != "sqs":
            return {"FunctionName": arn, "InvocationType": "Event", "Payload": self._input(run)}
        group = (run.target.get("SqsParameters") or {}).get("MessageGroupId")
        more = {} if group is None else {"MessageGroupId": group}
        return {"QueueUrl": _queue_url(arn), "MessageBody": self._input(run), **more}

    def _input(self, run: Run) -> str:
        """https://docs.aws.amazon.com/scheduler/latest/UserGuide/managing-schedule-context-attributes.html"""
        text: str = run.target.get("Input") or json.dumps(self._notification(run))
        context = {
            "schedule-arn": run.schedule.arn,
            "scheduled-time": _iso(run.scheduled_ms),
            "attempt-number": str(run.attempts),
        }
        for name, value in context.items():
            text = text.replace(f"<aws.scheduler.{name}>", value)
        return text.replace("<aws.scheduler.execution-id>", self._region.new_id())

    def _notification(self, run: Run) -> dict[str, Any]:
        """What a target without an input of its own gets."""
        return {
            "version": "0",
            "id": self._region.new_id(),
            "detail-type": "Scheduled Event",
            "source": "aws.scheduler",
            "account": self._region.account,
            "time": _iso(run.scheduled_ms),
            "region": self._region.name,
            "resources": [run.schedule.arn],
            "detail": "{}",
        }


def _queue_url(arn: str) -> str:
    _, _, _, region, account, name = arn.split(":")
    return f"https://sqs.{region}.amazonaws.com/{account}/{name}"


def _iso(at_ms: int) -> str:
    moment = datetime.datetime.fromtimestamp(at_ms / MILLISECONDS, datetime.UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
