"""The CloudWatch dashboard, written from the template's own queues and alarms, so that none is left out."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infra.checks.template import target, text
from infra.expand import parse

TEMPLATE = Path(__file__).parent.parent / "template.yaml"
RESOURCE = "Dashboard"
WIDTH, HEIGHT = 24, 6
"""A row has 24 columns:
docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/CloudWatch-Dashboard-Body-Structure.html"""

_BODY = re.compile(rf"(\n  {RESOURCE}:\n(?:    .*\n)*?      DashboardBody: !Sub \|\n)((?:        .*\n)+)")
_STACK = "${AWS::StackName}"
Resources = Mapping[str, Mapping[str, Any]]
Metrics = Sequence[Sequence[Any]]


@dataclass(frozen=True, slots=True)
class Shown:
    """A subscriber with the logical ids of its queue and its dead-letter queue."""

    name: str
    queue: str
    dead: str


def body(resources: Resources) -> str:
    """The dashboard's JSON, a metric a line, with the `${...}` that `Fn::Sub` fills in."""
    rows: Sequence[Sequence[str]] = [
        [_alarms(resources)],
        _of_subscribers(list(subscribers(resources))),
        _WHOLE,
    ]
    widgets = ",\n".join(widget for row in rows for widget in row)
    return f'{{"widgets":[\n{widgets}\n]}}\n'


def subscribers(resources: Resources) -> Iterator[Shown]:
    for queue, resource in resources.items():
        properties = resource.get("Properties", {})
        if resource["Type"] == "AWS::SQS::Queue" and "RedrivePolicy" in properties:
            name = text(properties.get("QueueName")).removeprefix(f"{_STACK}-").removesuffix(".fifo")
            yield Shown(name, queue, str(target(properties["RedrivePolicy"]["deadLetterTargetArn"])))


def written(template: str) -> str:
    """The template's text with its dashboard written anew; without one it stays as it is."""
    if not _BODY.search(template):
        return template
    lines = body(parse(template)["Resources"]).splitlines(keepends=True)
    new = "".join(f"        {line}" for line in lines)
    return _BODY.sub(lambda found: found[1] + new, template)


def _of_subscribers(shown: Sequence[Shown]) -> Sequence[str]:
    waiting = [_of_queue("ApproximateNumberOfMessagesVisible", each.queue, each.name) for each in shown]
    dead = [_of_queue("ApproximateNumberOfMessagesVisible", each.dead, each.name) for each in shown]
    return [
        _graph("Waiting: messages by subscriber", waiting, 0, 1),
        _graph("Age: seconds, of the oldest open job", _ages(shown), 1, 1),
        _graph("Failure rate: % of the attempts", _rates(shown), 2, 1, stat="Sum"),
        _graph("Dead letters", dead, 3, 1),
    ]


def _ages(shown: Sequence[Shown]) -> Metrics:
    """SQS's age of the oldest message, or the table's of the oldest job that is retrying or parked."""
    lines: list[Sequence[Any]] = []
    for number, each in enumerate(shown):
        queued, opened = f"q{number}", f"o{number}"
        lines += [
            [
                {
                    "expression": f"MAX([FILL({queued},0),FILL({opened},0)])",
                    "label": each.name,
                    "id": f"a{number}",
                }
            ],
            [*_of_queue("ApproximateAgeOfOldestMessage", each.queue, each.name)[:-1], _hidden(queued)],
            [*_of_subscriber("OldestOpenSeconds", each.name), _hidden(opened)],
        ]
    return lines


def _rates(shown: Sequence[Shown]) -> Metrics:
    lines: list[Sequence[Any]] = []
    for number, each in enumerate(shown):
        failed, completed = f"f{number}", f"c{number}"
        rate = f"100*FILL({failed},0)/SUM([FILL({failed},0),FILL({completed},0)])"
        lines += [
            [{"expression": rate, "label": each.name, "id": f"r{number}"}],
            [*_of_subscriber("AttemptsFailed", each.name), _hidden(failed)],
            [*_of_subscriber("JobsCompleted", each.name), _hidden(completed)],
        ]
    return lines


def _of_queue(metric: str, queue: str, label: str) -> Sequence[Any]:
    return ["AWS/SQS", metric, "QueueName", f"${{{queue}.QueueName}}", {"label": label}]


def _of_subscriber(metric: str, subscriber: str) -> Sequence[Any]:
    return [_STACK, metric, "subscriber", subscriber]


def _hidden(name: str) -> Mapping[str, Any]:
    return {"id": name, "visible": False}


def _graph(title: str, metrics: Metrics, column: int, row: int, *, stat: str = "Maximum") -> str:
    properties = {
        "title": title,
        "region": "${AWS::Region}",
        "stat": stat,
        "period": 60,
        "view": "timeSeries",
    }
    return _widget("metric", properties, "metrics", metrics, column, row)


def _alarms(resources: Resources) -> str:
    names = [name for name, each in resources.items() if each["Type"] == "AWS::CloudWatch::Alarm"]
    return _widget("alarm", {"title": "Alarms"}, "alarms", [f"${{{name}.Arn}}" for name in names], 0, 0)


def _widget(
    kind: str, properties: Mapping[str, Any], key: str, lines: Sequence[Any], column: int, row: int
) -> str:
    width = WIDTH if kind == "alarm" else WIDTH // 4
    place = {"type": kind, "x": column * width, "y": row * HEIGHT, "width": width, "height": HEIGHT}
    head = json.dumps({**place, "properties": {**properties, key: []}}).removesuffix("]}}")
    # A comma begins its line, so that one subscriber more changes no other's.
    return head + "\n" + "\n,".join(map(json.dumps, lines)) + "\n]}}"


_WHOLE = [
    _graph(
        "Outbox: seconds behind",
        [
            [_STACK, "OutboxLagSeconds", {"label": "oldest event left to the sweep"}],
            [_STACK, "OutboxRefusedSeconds", {"label": "oldest event refused"}],
        ],
        0,
        2,
    ),
    _graph(
        "Relay",
        [
            [
                "AWS/Lambda",
                "IteratorAge",
                "FunctionName",
                "${RelayFunction}",
                {"label": "behind its stream, ms"},
            ],
            [_STACK, "RelaySeconds", {"label": "delay, s", "yAxis": "right"}],
            [_STACK, "RelayRewinds", {"label": "batches that went back", "stat": "Sum"}],
        ],
        1,
        2,
    ),
    _graph(
        "API",
        [
            ["AWS/ApiGateway", "Count", "ApiId", "${Api}", {"label": "requests", "stat": "Sum"}],
            ["AWS/ApiGateway", "4xx", "ApiId", "${Api}", {"label": "4xx", "stat": "Sum"}],
            ["AWS/ApiGateway", "5xx", "ApiId", "${Api}", {"label": "5xx", "stat": "Sum"}],
            [
                "AWS/ApiGateway",
                "Latency",
                "ApiId",
                "${Api}",
                {"label": "p99, ms", "stat": "p99", "yAxis": "right"},
            ],
        ],
        2,
        2,
    ),
    _graph(
        "Jobs",
        [
            [_STACK, "JobsCompleted", {"label": "completed"}],
            [_STACK, "AttemptsFailed", {"label": "failed attempts"}],
            [_STACK, "JobsDead", {"label": "dead"}],
            [_STACK, "JobsExpired", {"label": "expired"}],
        ],
        3,
        2,
        stat="Sum",
    ),
]
"""What is not of one subscriber."""


def main() -> int:
    TEMPLATE.write_text(written(TEMPLATE.read_text(encoding="utf-8")), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
