"""What a request to the Scheduler may hold.

https://docs.aws.amazon.com/scheduler/latest/APIReference/API_CreateSchedule.html
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from infra.local.aws.errors import AwsError

Params = Mapping[str, Any]

_NAME = re.compile(r"[0-9a-zA-Z\-_.]{1,64}")
_ARN = re.compile(r"arn:aws:(lambda:[^:]+:\d{12}:function|sqs:[^:]+:\d{12}):.+")
_STANDARD_QUEUE = re.compile(r"arn:aws:sqs:[^:]+:\d{12}:[A-Za-z0-9_-]+")
# name: (least, most)
_RETRIES = {"MaximumEventAgeInSeconds": (60, 86_400), "MaximumRetryAttempts": (0, 185)}


def invalid(reason: str) -> AwsError:
    return AwsError("ValidationException", reason)


def check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise invalid(f"Name {name} must have 1 to 64 letters, digits, hyphens, underscores or dots.")


def check_schedule(params: Params) -> None:
    """Raises a ValidationException, also for what is not modelled."""
    check_name(params["Name"])
    if params["FlexibleTimeWindow"].get("Mode") != "OFF":
        raise invalid("A FlexibleTimeWindow other than OFF is not modelled.")
    _check_target(params["Target"])


def _check_target(target: Params) -> None:
    arn = target.get("Arn", "")
    if not _ARN.fullmatch(arn):
        raise invalid(f"Target {arn or '(none)'} is not modelled: a Lambda function or an SQS queue.")
    if not target.get("RoleArn"):
        raise invalid("Target.RoleArn must not be null.")
    if ":lambda:" in arn and "Input" in target and not _is_json(target["Input"]):
        raise invalid("Target.Input must be valid JSON for a Lambda function.")
    dead_letters = (target.get("DeadLetterConfig") or {}).get("Arn")
    if dead_letters is not None and not _STANDARD_QUEUE.fullmatch(dead_letters):
        raise invalid("DeadLetterConfig.Arn must be the ARN of a standard queue.")
    for name, (least, most) in _RETRIES.items():
        value = (target.get("RetryPolicy") or {}).get(name, least)
        if not least <= value <= most:
            raise invalid(f"RetryPolicy.{name} must be within {least} and {most}.")


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
