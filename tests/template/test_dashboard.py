"""The dashboard shows every subscriber's four numbers and every alarm, and nothing that is not there."""

import json
import re
from typing import Any

import pytest

from handlers.postroom.aws.metrics import Metric
from handlers.postroom.discovery import job_types
from infra import dashboard
from infra.checks.template import Template
from infra.expand import parse
from tests.template.conftest import ROOT

SUBSCRIBERS = {each.subscriber for each in job_types("handlers")}
PER_SUBSCRIBER = ("Waiting", "Age", "Failure rate", "Dead letters")
TEXT = (ROOT / "template.yaml").read_text(encoding="utf-8")


@pytest.fixture
def widgets(shipped: Template) -> list[Any]:
    shown: list[Any] = json.loads(shipped.properties("Dashboard")["DashboardBody"]["Fn::Sub"])["widgets"]
    return shown


@pytest.mark.parametrize("number", PER_SUBSCRIBER)
def test_each_number_is_shown_of_each_subscriber(widgets: list[Any], number: str) -> None:
    (graph,) = [each for each in widgets if each["properties"]["title"].startswith(number)]

    labels = [line[-1].get("label") for line in graph["properties"]["metrics"] if line[-1].get("label")]

    assert set(labels) == SUBSCRIBERS
    assert len(labels) == len(SUBSCRIBERS)


def test_every_alarm_is_shown(widgets: list[Any], shipped: Template) -> None:
    (shown,) = [each["properties"]["alarms"] for each in widgets if each["type"] == "alarm"]

    assert set(shown) == {f"${{{name}.Arn}}" for name, _ in shipped.of_type("AWS::CloudWatch::Alarm")}


def test_it_refers_to_resources_of_the_template_only(shipped: Template) -> None:
    body = shipped.properties("Dashboard")["DashboardBody"]["Fn::Sub"]

    assert {name for name in re.findall(r"\$\{(\w+)", body) if name != "AWS"} <= shipped.resources.keys()


def test_its_own_metrics_are_those_that_functions_write(widgets: list[Any], shipped: Template) -> None:
    lines = [line for each in widgets for line in each["properties"].get("metrics", [])]
    shown = {line[1] for line in lines if line[0] == "${AWS::StackName}"}
    alarms = [alarm for _, alarm in shipped.of_type("AWS::CloudWatch::Alarm")]
    single = [
        each["MetricStat"]["Metric"]
        for alarm in alarms
        for each in alarm.get("Metrics", ())
        if "MetricStat" in each
    ]
    rung = {
        each["MetricName"]
        for each in [*alarms, *single]
        if each.get("Namespace") == {"Ref": "AWS::StackName"}
    }

    written = {metric.value[0] for metric in Metric}
    assert shown | rung <= written
    assert rung


def test_expressions_use_metrics_of_their_own_graph(widgets: list[Any]) -> None:
    for each in widgets:
        options = [line[-1] for line in each["properties"].get("metrics", []) if isinstance(line[-1], dict)]
        named = [option["id"] for option in options if "id" in option]
        used = {
            name for option in options for name in re.findall(r"\b[a-z]\d+\b", option.get("expression", ""))
        }

        assert used <= set(named)
        assert len(set(named)) == len(named)


def test_no_two_widgets_lie_on_each_other(widgets: list[Any]) -> None:
    cells = [
        (x, y)
        for each in widgets
        for x in range(each["x"], each["x"] + each["width"])
        for y in range(each["y"], each["y"] + each["height"])
    ]

    assert len(set(cells)) == len(cells)
    assert max(x for x, _ in cells) < dashboard.WIDTH


def test_writing_it_again_changes_nothing() -> None:
    assert dashboard.written(TEXT) == TEXT


def test_a_queue_more_is_a_subscriber_more() -> None:
    queue = """
  GiftsQueue:
    Type: AWS::SQS::Queue
    Properties:
      QueueName: !Sub ${AWS::StackName}-gifts
      RedrivePolicy: {deadLetterTargetArn: !GetAtt GiftsDeadLetterQueue.Arn, maxReceiveCount: 20}

Outputs:
"""

    written = dashboard.written(TEXT.replace("\nOutputs:\n", queue))

    body = parse(written)["Resources"]["Dashboard"]["Properties"]["DashboardBody"]["Fn::Sub"]
    assert "${GiftsQueue.QueueName}" in body
    assert "${GiftsDeadLetterQueue.QueueName}" in body
    assert json.loads(body)


def test_a_template_without_one_stays_as_it_is() -> None:
    text = "Resources:\n  Table:\n    Type: AWS::DynamoDB::Table\n"

    assert dashboard.written(text) == text
