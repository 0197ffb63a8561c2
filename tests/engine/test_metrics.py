"""Metrics are lines in CloudWatch's embedded format, complete however many come and however it ends."""

import json
from dataclasses import replace
from typing import Any

import boto3
import pytest

from handlers.postroom.aws.deployment import Deployment
from handlers.postroom.aws.metrics import Metric, measured
from handlers.postroom.open_jobs import LOOKED_AT, OpenJob, oldest_open_seconds

NOW = 1_796_040_000.25
CLOUDWATCH_VALUES = 100
"""More values of a metric in one line are dropped without a word."""


@pytest.fixture
def lines() -> list[str]:
    return []


@pytest.fixture
def deployment(lines: list[str]) -> Deployment:
    environ = {"METRICS_NAMESPACE": "shop-test"}
    session = boto3.Session(region_name="eu-west-1")
    return Deployment(environ, session, clock=lambda: NOW, emit=lines.append)


def values(lines: list[str], name: str) -> list[list[float]]:
    """Of one metric, line by line."""
    return [json.loads(line)[name] for line in lines]


def directive(line: str) -> Any:
    (found,) = json.loads(line)["_aws"]["CloudWatchMetrics"]
    return found


@pytest.mark.parametrize("count", [150, 99, 100, 1], ids=lambda count: f"OPS-2-{count}-values")
def test_every_value_is_written_in_lines_that_cloudwatch_takes_whole(
    deployment: Deployment, lines: list[str], count: int
) -> None:
    with measured(deployment) as metrics:
        for number in range(count):
            metrics.add(Metric.RELAY_SECONDS, number)

    written = values(lines, "RelaySeconds")
    assert [value for line in written for value in line] == list(range(count))
    assert max(map(len, written)) < CLOUDWATCH_VALUES


def test_nothing_is_printed_behind_our_back(
    deployment: Deployment, capsys: pytest.CaptureFixture[str]
) -> None:
    with measured(deployment) as metrics:
        for number in range(3 * CLOUDWATCH_VALUES):
            metrics.add(Metric.RELAY_SECONDS, number)

    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("count", [1, 150], ids=lambda count: f"OPS-2-raised-after-{count}")
def test_what_was_measured_before_an_error_is_written(
    deployment: Deployment, lines: list[str], count: int
) -> None:
    def handle() -> None:
        with measured(deployment) as metrics:
            for _ in range(count):
                metrics.add(Metric.ATTEMPTS_FAILED)
            raise RuntimeError("the handler")

    with pytest.raises(RuntimeError, match="the handler"):
        handle()

    assert sum(map(sum, values(lines, "AttemptsFailed"))) == count


def test_a_subscribers_value_counts_for_it_and_for_the_stack(
    deployment: Deployment, lines: list[str]
) -> None:
    with measured(deployment, "receipts") as metrics:
        metrics.add(Metric.JOBS_DEAD)

    (line,) = lines
    assert directive(line) == {
        "Namespace": "shop-test",
        "Dimensions": [[], ["subscriber"]],
        "Metrics": [{"Name": "JobsDead", "Unit": "Count"}],
    }
    assert json.loads(line)["subscriber"] == "receipts"
    assert json.loads(line)["_aws"]["Timestamp"] == int(NOW * 1000)


def test_the_stacks_own_value_has_no_dimension(deployment: Deployment, lines: list[str]) -> None:
    with measured(deployment) as metrics:
        metrics.add(Metric.OUTBOX_LAG_SECONDS, 61.5)

    assert directive(lines[0])["Dimensions"] == [[]]


def test_where_nobody_watches_nothing_is_written(deployment: Deployment, lines: list[str]) -> None:
    with measured(replace(deployment, environ={})) as metrics:
        metrics.add(Metric.JOBS_COMPLETED)

    assert lines == []


def test_nothing_measured_is_no_line(deployment: Deployment, lines: list[str]) -> None:
    with measured(deployment):
        pass

    assert lines == []


class Listed:
    def __init__(self, **jobs: list[OpenJob]) -> None:
        self._jobs = jobs

    def oldest(self, state: str, limit: int) -> list[OpenJob]:
        assert limit == LOOKED_AT
        return self._jobs.get(state, [])


def since(seconds: float) -> int:
    return int((NOW - seconds) * 1000)


def test_the_oldest_open_job_of_each_subscriber_is_told() -> None:
    jobs = Listed(
        retrying=[
            OpenJob("receipts", since(600)),
            OpenJob("loyalty", since(60)),
            OpenJob("receipts", since(5)),
        ],
        parked=[OpenJob("statement", since(30)), OpenJob("loyalty", since(90))],
    )

    ages = oldest_open_seconds(jobs, NOW)

    assert ages == pytest.approx({"receipts": 600, "loyalty": 90, "statement": 30}, abs=0.01)


def test_no_open_job_is_no_figure() -> None:
    assert oldest_open_seconds(Listed(), NOW) == {}
