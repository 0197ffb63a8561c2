"""Schedules of the template and those made while it runs, on a stack of their own."""

from __future__ import annotations

import datetime
import json
import math
from typing import Any

import pytest

from infra.expand import TemplateError, transform
from infra.local.aws import LocalAws, ManualClock
from infra.local.driving import run_for, run_until_idle
from infra.local.functions import Invocation
from infra.local.schedules import Rule, UnknownScheduleError
from infra.local.stack import Options, Stack
from tests.unit.local.functions import Probe

MINUTE, HOUR, DAY = 60, 3_600, 86_400


def poll(rule: Rule) -> int:
    work = rule.claim()
    return work() if work else 0


@pytest.mark.parametrize("expression", ["at(2026-01-01T00:00:00", "rate(1 week)", "cron(0 2 * * *)"])
def test_what_is_no_schedule_is_refused_by_name(expression: str) -> None:
    with pytest.raises(UnknownScheduleError, match=r"at|week|cron"):
        Rule("Tick", Probe().function, expression, Probe().clock)


def test_rule_calls_its_function_once_an_interval_and_not_before() -> None:
    probe = Probe()
    rule = Rule("Tick", probe.function, "rate(1 minute)", probe.clock)

    calls = []
    for step in (59.9, 0.1, 59.9, 0.1):
        probe.clock.now += step
        calls.append(poll(rule))

    assert calls == [0, 1, 0, 1]


def test_calls_that_a_rule_missed_are_not_made_up_for() -> None:
    probe = Probe()
    rule = Rule("Tick", probe.function, "rate(1 minute)", probe.clock)
    start = probe.clock.now

    probe.clock.now += 605
    assert (poll(rule), poll(rule)) == (1, 0)
    assert rule.next_due() == start + 660


def test_rule_that_never_comes_again_is_never_due() -> None:
    probe = Probe()

    assert Rule("Past", probe.function, "cron(0 0 1 1 ? 2020)", probe.clock).next_due() == math.inf


def test_own_input_replaces_the_event() -> None:
    probe = Probe()
    rule = Rule("Tick", probe.function, "rate(1 minute)", probe.clock, payload={"a": 1})
    probe.clock.now += 60

    poll(rule)

    assert probe.events == [{"a": 1}]


def function(**events: Any) -> dict[str, Any]:
    return {
        "Type": "AWS::Serverless::Function",
        "Properties": {
            "CodeUri": "tests/",
            "Handler": "tests.unit.local.sample.probe",
            "Runtime": "python3.13",
            "Role": "arn:aws:iam::123456789012:role/any",
            "Events": events,
        },
    }


def schedule(expression: str, **more: Any) -> dict[str, Any]:
    return {
        "Type": "ScheduleV2",
        "Properties": {"ScheduleExpression": expression, "OmitName": True, **more},
    }


class Run:
    """A stack of these resources, on a clock in the test's hands that starts at 2026-03-28 12:00 UTC."""

    def __init__(self, resources: dict[str, Any]) -> None:
        self.clock = ManualClock(datetime.datetime(2026, 3, 28, 12, tzinfo=datetime.UTC).timestamp())
        self.start = self.clock.now()
        self.aws = LocalAws(self.clock)
        self.invocations: list[Invocation] = []
        template = transform({"Transform": "AWS::Serverless-2016-10-31", "Resources": resources})
        self.stack = Stack(template, {}, self.aws, Options(observers=[self.invocations.append]))
        self.scheduler = self.aws.session().client("scheduler")

    @property
    def calls(self) -> list[tuple[str, float]]:
        """Which function ran, and how many seconds after the start."""
        return [(one.function, one.started - self.start) for one in self.invocations]

    def remind(self, name: str, seconds: float, event: Any = None) -> None:
        """Have the function called once."""
        due = datetime.datetime.fromtimestamp(self.clock.now() + seconds, datetime.UTC)
        self.scheduler.create_schedule(
            Name=name,
            ScheduleExpression=f"at({due:%Y-%m-%dT%H:%M:%S})",
            FlexibleTimeWindow={"Mode": "OFF"},
            ActionAfterCompletion="DELETE",
            Target={
                "Arn": self.stack.functions["Work"].settings.arn,
                "RoleArn": "arn:aws:iam::123456789012:role/any",
                "Input": json.dumps(event or {}),
            },
        )


def test_schedule_of_the_template_calls_its_function_as_time_passes() -> None:
    run = Run({"Work": function(Tick=schedule("rate(1 minute)"))})

    run_for(run.stack, run.clock, 150)

    assert run.calls == [("Work", 60), ("Work", 120)]
    event = run.invocations[0].event
    assert (event["source"], event["time"]) == ("aws.scheduler", "2026-03-28T12:01:00Z")


def test_cron_of_the_template_runs_in_its_zone_and_skips_what_does_not_exist() -> None:
    nightly = schedule(
        "cron(0 2 * * ? *)", ScheduleExpressionTimezone="Europe/Berlin", Input='{"do": "roll up"}'
    )
    run = Run({"Work": function(Nightly=nightly)})

    run_for(run.stack, run.clock, 2 * DAY)

    assert run.calls == [("Work", 36 * HOUR)]  # clocks go from 02:00 to 03:00 in the first night
    assert run.invocations[0].event == {"do": "roll up"}


def test_calls_that_nobody_made_in_time_are_made_up_for_by_one() -> None:
    run = Run({"Work": function(Tick=schedule("rate(1 minute)"))})
    kept, run.stack.schedules = run.stack.schedules, []

    run_for(run.stack, run.clock, 10 * MINUTE)
    run.stack.schedules = kept
    run.stack.settle()

    assert run.calls == [("Work", 10 * MINUTE)]


def test_template_schedule_can_be_seen_and_stopped_through_the_api() -> None:
    run = Run({"Work": function(Tick=schedule("rate(1 minute)"))})

    (one,) = run.scheduler.list_schedules()["Schedules"]
    run.scheduler.delete_schedule(Name=one["Name"])
    run_for(run.stack, run.clock, 10 * MINUTE)

    assert one["Name"] == "WorkTick"
    assert run.calls == []
    assert run.stack.schedules[0].next_due() == math.inf


def test_reminder_made_while_the_stack_runs_calls_its_function_once_at_its_time() -> None:
    run = Run({"Work": function()})
    run.remind("order-1001", 10 * HOUR, {"do": "remind"})

    seconds = run_until_idle(run.stack, run.clock)

    assert seconds == 10 * HOUR
    assert run.calls == [("Work", 10 * HOUR)]
    assert run.invocations[0].event == {"do": "remind"}
    assert run.scheduler.list_schedules()["Schedules"] == []


def test_reminder_deleted_in_time_never_calls() -> None:
    run = Run({"Work": function()})
    run.remind("order-1001", 10 * HOUR)

    run.scheduler.delete_schedule(Name="order-1001")

    assert run_until_idle(run.stack, run.clock) == 0
    assert run.calls == []


def test_schedule_resource_sends_to_a_queue_and_lives_in_its_group() -> None:
    resources = {
        "Queue": {"Type": "AWS::SQS::Queue"},
        "Dead": {"Type": "AWS::SQS::Queue"},
        "Group": {"Type": "AWS::Scheduler::ScheduleGroup", "Properties": {"Name": "nightly"}},
        "RollUp": {
            "Type": "AWS::Scheduler::Schedule",
            "Properties": {
                "GroupName": {"Ref": "Group"},
                "ScheduleExpression": "cron(0 2 * * ? *)",
                "ScheduleExpressionTimezone": "Africa/Lagos",
                "FlexibleTimeWindow": {"Mode": "OFF"},
                "Target": {
                    "Arn": {"Fn::GetAtt": ["Queue", "Arn"]},
                    "RoleArn": "arn:aws:iam::123456789012:role/any",
                    "Input": "roll up",
                    "DeadLetterConfig": {"Arn": {"Fn::GetAtt": ["Dead", "Arn"]}},
                },
            },
        },
    }
    run = Run(resources)

    run_for(run.stack, run.clock, DAY)

    (message,) = run.aws.sqs.queue(run.stack.ref("Queue")).messages
    assert (message.body, message.sent_ms / 1000 - run.start) == ("roll up", 13 * HOUR)
    (listed,) = run.scheduler.list_schedules(GroupName="nightly")["Schedules"]
    assert listed["Name"] == run.stack.ref("RollUp")


def test_schedule_that_does_not_run_here_is_refused_with_its_name() -> None:
    with pytest.raises(TemplateError, match="WorkTick: Invalid Schedule Expression"):
        Run({"Work": function(Tick=schedule("rate(1 week)"))})
