"""Schedules as the API shows them.

https://docs.aws.amazon.com/scheduler/latest/APIReference/API_GetSchedule.html and API_ListSchedules.html
"""

import base64
import binascii
from collections.abc import Iterable, Mapping
from typing import Any

from infra.local.aws.clock import MILLISECONDS
from infra.local.aws.scheduler import checks
from infra.local.aws.scheduler.schedule import Schedule

_DEFAULTS = {
    "ActionAfterCompletion": "NONE",
    "ScheduleExpressionTimezone": "UTC",
    "State": "ENABLED",
}
_RETRY_POLICY = {"MaximumEventAgeInSeconds": 86_400, "MaximumRetryAttempts": 185}
_PAGE = 100


def schedule(one: Schedule) -> dict[str, Any]:
    target = {**one.request["Target"]}
    target["RetryPolicy"] = {**_RETRY_POLICY, **(target.get("RetryPolicy") or {})}
    given = {name: value for name, value in one.request.items() if name != "ClientToken"}
    return {**_DEFAULTS, **given, **_identity(one), "Target": target}


def page(schedules: Iterable[Schedule], params: Mapping[str, Any]) -> dict[str, Any]:
    """The next so many of those that are asked for, by group and name."""
    after = _position(params.get("NextToken"))
    limit = params.get("MaxResults", _PAGE)
    if not 1 <= limit <= _PAGE:
        raise checks.invalid(f"MaxResults must be within 1 and {_PAGE}.")
    wanted = [one for one in schedules if one.arn > after and _is_wanted(one, params)]
    wanted.sort(key=lambda one: one.arn)
    more = {"NextToken": _token(wanted[limit - 1])} if len(wanted) > limit else {}
    return {"Schedules": [_summary(one) for one in wanted[:limit]], **more}


def _is_wanted(one: Schedule, params: Mapping[str, Any]) -> bool:
    return (
        params.get("GroupName", one.group) == one.group
        and one.name.startswith(params.get("NamePrefix", ""))
        and params.get("State", _state(one)) == _state(one)
    )


def _summary(one: Schedule) -> dict[str, Any]:
    target = {"Arn": one.request["Target"]["Arn"]}
    return {**_identity(one), "State": _state(one), "Target": target}


def _identity(one: Schedule) -> dict[str, Any]:
    return {
        "Arn": one.arn,
        "GroupName": one.group,
        "Name": one.name,
        "CreationDate": one.created_ms / MILLISECONDS,
        "LastModificationDate": one.created_ms / MILLISECONDS,
    }


def _state(one: Schedule) -> str:
    return "ENABLED" if one.is_enabled else "DISABLED"


def _token(one: Schedule) -> str:
    return base64.b64encode(one.arn.encode()).decode()


def _position(token: str | None) -> str:
    try:
        return base64.b64decode(token or "", validate=True).decode()
    except (ValueError, binascii.Error) as error:
        raise checks.invalid("The NextToken is not valid.") from error
