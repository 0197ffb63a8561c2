"""Rules on alarms: what waits for a person is told to one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from infra.checks.queues import last_resorts
from infra.checks.template import Finding, Properties, Template, as_list, target

RUNBOOK = "docs/runbook.md#"
WHAT_WAITS: Mapping[str, Any] = {
    "Namespace": "AWS/SQS",
    "MetricName": "ApproximateNumberOfMessagesVisible",
    "Statistic": "Maximum",
    "Threshold": 1,
    "ComparisonOperator": "GreaterThanOrEqualToThreshold",
    "TreatMissingData": "notBreaching",
}
"""SQS's own count of messages sent leaves out those that it moves by itself:
docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/dead-letter-queues-alarms-cloudwatch.html"""
USING = frozenset({"kms:Decrypt", "kms:GenerateDataKey*"})


def dead_letters_are_told(template: Template) -> Iterator[Finding]:
    """One is one too many, and nobody looks into a queue unasked:
    docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/dead-letter-queues-alarms-cloudwatch.html
    """
    watched = {queue for _, alarm in _alarms(template) for queue in _watched(alarm)}
    for queue in sorted({str(dead) for _, dead, _ in template.redrives()} | last_resorts(template)):
        if queue not in watched:
            yield Finding(queue, "has no alarm for the first message that is visible in it")


def alarm_tells_somebody_what_to_do(template: Template) -> Iterator[Finding]:
    """An alarm is worth its runbook, and nothing when it goes nowhere:
    docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/alarm-actions.html"""
    for name, alarm in _alarms(template):
        if not alarm.get("AlarmActions") or alarm.get("ActionsEnabled") is False:
            yield Finding(name, "has no AlarmActions")
        if RUNBOOK not in str(alarm.get("AlarmDescription")):
            yield Finding(name, f"does not name its part of the runbook: {RUNBOOK}...")


def alarm_says_what_silence_means(template: Template) -> Iterator[Finding]:
    """By default an alarm without data keeps its state, whichever that is:
    docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/alarms-and-missing-data.html"""
    for name, alarm in _alarms(template):
        if alarm.get("TreatMissingData") not in ("breaching", "notBreaching"):
            yield Finding(name, "does not say TreatMissingData")


def alarm_can_use_its_topics_key(template: Template) -> Iterator[Finding]:
    """CloudWatch cannot use SNS's own key, nor another that does not let it: alarms vanish.
    docs.aws.amazon.com/sns/latest/dg/sns-key-management.html"""
    topics = {
        target(action) for _, alarm in _alarms(template) for action in as_list(alarm.get("AlarmActions", []))
    }
    for name in sorted(filter(None, topics)):
        key = template.properties(name).get("KmsMasterKeyId")
        if key and not _lets_cloudwatch_in(template, target(key)):
            yield Finding(name, "is encrypted with a key that cloudwatch.amazonaws.com may not use")


def _alarms(template: Template) -> Iterator[tuple[str, Properties]]:
    return template.of_type("AWS::CloudWatch::Alarm")


def _watched(alarm: Properties) -> Iterator[str | None]:
    if WHAT_WAITS.items() <= {key: value for key, value in alarm.items() if key in WHAT_WAITS}.items():
        yield from (target(dimension["Value"]) for dimension in alarm.get("Dimensions", []))


def _lets_cloudwatch_in(template: Template, key: str | None) -> bool:
    if key not in template.resources:
        return False
    return any(
        statement.get("Principal") == {"Service": "cloudwatch.amazonaws.com"}
        and USING.issubset(as_list(statement["Action"]))
        for statement in as_list(template.properties(str(key))["KeyPolicy"]["Statement"])
    )


RULES = (
    dead_letters_are_told,
    alarm_tells_somebody_what_to_do,
    alarm_says_what_silence_means,
    alarm_can_use_its_topics_key,
)
