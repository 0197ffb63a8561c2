"""Rules on what is logged: apart by function, and not for ever."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from infra.checks.template import Finding, Template, target


def function_logs_to_a_group_of_its_own(template: Template) -> Iterator[Finding]:
    """The group that Lambda makes by itself keeps everything for ever, and stays when the stack goes:
    docs.aws.amazon.com/lambda/latest/dg/monitoring-cloudwatchlogs-loggroups.html"""
    groups = dict(template.of_type("AWS::Logs::LogGroup"))
    named = {
        name: target(function.get("LoggingConfig", {}).get("LogGroup"))
        for name, function in template.functions()
    }
    users = Counter(named.values())
    for name, group in named.items():
        if group not in groups:
            yield Finding(name, "has no log group in this template")
        elif users[group] > 1:
            yield Finding(name, f"shares the log group {group}")


def logs_are_kept_for_a_time(template: Template) -> Iterator[Finding]:
    """Without a retention they are kept, and paid for, for ever:
    docs.aws.amazon.com/AmazonCloudWatch/latest/logs/Working-with-log-groups-and-streams.html"""
    for name, group in template.of_type("AWS::Logs::LogGroup"):
        if "RetentionInDays" not in group:
            yield Finding(name, "lacks RetentionInDays")


RULES = (
    function_logs_to_a_group_of_its_own,
    logs_are_kept_for_a_time,
)
