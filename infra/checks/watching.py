"""Rules on watching: what is late or never runs is seen, and whoever is told finds out what to do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from infra import dashboard
from infra.checks.template import Finding, Properties, Template, references, target

RUNBOOK = Path(__file__).parents[2] / "docs" / "runbook.md"
_LINK = re.compile(r"docs/runbook\.md#([a-z0-9-]+)$")
_HEADING = re.compile(r"^## (.+)$", re.MULTILINE)
AGE, OPEN = "ApproximateAgeOfOldestMessage", "OldestOpenSeconds"


def work_queue_has_an_alarm_on_age(template: Template) -> Iterator[Finding]:
    """SQS's age leaves out what has been received three times or more, so the table's is needed, too, unless
    waiting there for days is what the job type does:
    docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-available-cloudwatch-metrics.html"""
    for _, mapping, queue in template.queue_mappings():
        job = template.jobs.get(template.function_of(mapping))
        subscriber = job.subscriber if job else ""
        watched = {metric for _, alarm in _alarms(template) for metric in _metrics(alarm)}
        if (AGE, queue) not in watched:
            yield Finding(queue, f"has no alarm on {AGE}")
        if job and not job.waits_in_table and (OPEN, subscriber) not in watched:
            yield Finding(queue, f"has no alarm on {OPEN} of {subscriber}")


def scheduled_function_has_an_alarm(template: Template) -> Iterator[Finding]:
    """A schedule that fails is heard by nobody: there is no caller.
    docs.aws.amazon.com/lambda/latest/dg/monitoring-metrics-types.html"""
    watched = {metric for _, alarm in _alarms(template) for metric in _metrics(alarm)}
    for name, schedule in template.of_type("AWS::Scheduler::Schedule"):
        function = template.function_behind(str(target(schedule["Target"]["Arn"])))
        if ("Errors", function) not in watched:
            yield Finding(function, f"is called by {name}, and no alarm looks at its errors")


def schedule_has_a_dead_letter_queue(template: Template) -> Iterator[Finding]:
    """What could not be started is gone otherwise:
    docs.aws.amazon.com/scheduler/latest/UserGuide/configuring-schedule-dlq.html"""
    for name, schedule in template.of_type("AWS::Scheduler::Schedule"):
        if target(schedule["Target"].get("DeadLetterConfig", {}).get("Arn")) not in dict(template.queues()):
            yield Finding(name, "lacks a DeadLetterConfig")


def alarm_leads_to_its_page(template: Template) -> Iterator[Finding]:
    """Whoever is woken by it has to know what it means and what to do; and no page is about nothing.
    docs.aws.amazon.com/wellarchitected/latest/framework/ops_event_response_process_per_alert.html"""
    sections = {slug(heading) for heading in _HEADING.findall(RUNBOOK.read_text(encoding="utf-8"))}
    linked = {name: _link(alarm) for name, alarm in _alarms(template)}
    for name, section in linked.items():
        if section not in sections:
            yield Finding(name, f"leads to no section of docs/{RUNBOOK.name} by its description's end")
    for section in sorted(sections - set(linked.values())):
        yield Finding(f"docs/{RUNBOOK.name}", f"has a section {section}, and no alarm leads to it")


def dashboard_shows_everything(template: Template) -> Iterator[Finding]:
    """It is written from the queues and alarms; after a change of these it has to be written anew.
    docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/CloudWatch-Dashboard-Body-Structure.html"""
    for name, shown in template.of_type("AWS::CloudWatch::Dashboard"):
        if shown["DashboardBody"].get("Fn::Sub") != dashboard.body(template.resources):
            yield Finding(name, "does not show the queues and alarms as they are: make dashboard")


def slug(heading: str) -> str:
    """The anchor that a heading gets on GitHub."""
    return re.sub(r"[^a-z0-9 -]", "", heading.lower()).replace(" ", "-")


def _alarms(template: Template) -> Iterator[tuple[str, Properties]]:
    return template.of_type("AWS::CloudWatch::Alarm")


def _metrics(alarm: Properties) -> Iterator[tuple[str, str]]:
    """The metrics that an alarm looks at, each with the resource or the value of its dimension."""
    stats = [each["MetricStat"]["Metric"] for each in alarm.get("Metrics", []) if "MetricStat" in each]
    for metric in stats or [alarm]:
        for dimension in metric.get("Dimensions", []):
            value: Any = dimension["Value"]
            yield metric["MetricName"], next(references(value), str(value))


def _link(alarm: Properties) -> str:
    found = _LINK.search(str(alarm.get("AlarmDescription", "")))
    return found[1] if found else ""


RULES = (
    work_queue_has_an_alarm_on_age,
    scheduled_function_has_an_alarm,
    schedule_has_a_dead_letter_queue,
    alarm_leads_to_its_page,
    dashboard_shows_everything,
)
