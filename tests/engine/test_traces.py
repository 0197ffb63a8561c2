"""A request's trace goes with its event to every function that works on it, and is recorded there."""

import json
import socket
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import boto3
import pytest

from handlers.postroom.aws.deployment import Deployment
from handlers.postroom.aws.http_entry import http_entry
from handlers.postroom.aws.stream_entry import relay_handler
from handlers.postroom.aws.xray import DAEMON, HEADER, LAMBDAS_TRACE, Segment, Traces
from handlers.postroom.http import Answer, Request
from handlers.postroom.traces import Trace, id_of, of_event

from .conftest import NOW, THING_DONE, ThingDone, World

ROOT, PARENT = "1-6aee2c00-0123456789abcdef01234567", "53995c3f42cd8ad8"
SAMPLED = f"Root={ROOT};Parent={PARENT};Sampled=1"
SEGMENT = Segment("receipts", 100.5, 101.25, {"outcome": "completed", "receives": 1})


@dataclass
class Daemon:
    """What listens where X-Ray's daemon does."""

    port: socket.socket

    @property
    def address(self) -> str:
        host, number = self.port.getsockname()
        return f"{host}:{number}"

    def heard(self) -> list[dict[str, Any]]:
        found = []
        try:
            while data := self.port.recv(65_536):
                assert data.startswith(HEADER)
                found.append(json.loads(data.removeprefix(HEADER)))
        except BlockingIOError:
            return found
        return found


@pytest.fixture
def daemon() -> Iterator[Daemon]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as port:
        port.bind(("127.0.0.1", 0))
        port.setblocking(False)
        yield Daemon(port)


@pytest.fixture
def deployment(daemon: Daemon) -> Deployment:
    session = boto3.Session(region_name="eu-west-1")
    return Deployment({DAEMON: daemon.address}, session, new_id=lambda: "0123456789abcdef01234567")


def test_a_sampled_trace_gets_a_segment_under_the_one_that_it_came_from(
    deployment: Deployment, daemon: Daemon
) -> None:
    traces = Traces(deployment)

    traces.add(Trace.read(SAMPLED), SEGMENT)

    assert daemon.heard() == [
        {
            "name": "receipts",
            "id": "0123456789abcdef",
            "trace_id": ROOT,
            "parent_id": PARENT,
            "start_time": 100.5,
            "end_time": 101.25,
            "annotations": {"outcome": "completed", "receives": 1},
        }
    ]


def test_a_failed_run_is_marked_as_a_fault(deployment: Deployment, daemon: Daemon) -> None:
    traces = Traces(deployment)

    traces.add(Trace.read(SAMPLED), replace(SEGMENT, is_fault=True))

    assert [segment["fault"] for segment in daemon.heard()] == [True]


@pytest.mark.parametrize("header", [SAMPLED.replace("Sampled=1", "Sampled=0"), f"Root={ROOT}", "", "Root=x"])
def test_what_is_not_sampled_is_not_recorded(deployment: Deployment, daemon: Daemon, header: str) -> None:
    traces = Traces(deployment)

    traces.add(Trace.read(header), SEGMENT)

    assert daemon.heard() == []


def test_without_a_daemon_nothing_is_sent_and_nothing_fails(deployment: Deployment, daemon: Daemon) -> None:
    Traces(replace(deployment, environ={})).add(Trace.read(SAMPLED), SEGMENT)

    assert daemon.heard() == []


def test_a_daemon_that_cannot_be_reached_stops_no_work(deployment: Deployment) -> None:
    traces = Traces(replace(deployment, environ={DAEMON: "127.0.0.1:0"}))

    traces.add(Trace.read(SAMPLED), SEGMENT)


def test_a_request_is_traced_as_lambda_says(deployment: Deployment) -> None:
    seen: list[str] = []

    def respond(request: Request) -> Answer:
        seen.append(request.trace)
        return Answer(204)

    environ = {LAMBDAS_TRACE: f"{SAMPLED};Lineage=1:2:3"}
    handler = http_entry(lambda _: respond).on(replace(deployment, environ=environ))
    claims = {"authorizer": {"jwt": {"claims": {"sub": "ada"}}}}
    handler({"headers": {"x-amzn-trace-id": f"Root={ROOT}"}, "requestContext": claims}, None)  # type: ignore[arg-type]

    assert seen == [SAMPLED]


@pytest.mark.parametrize(
    ("text", "root"),
    [
        pytest.param(json.dumps({"id": "a", "trace": SAMPLED, "data": {}}), ROOT, id="spaced"),
        pytest.param(f'{{"id":"a","trace":"{SAMPLED}","data":{{}}}}', ROOT, id="as-we-write-it"),
        pytest.param('{"id":"a","trace":"","data":{}}', "", id="empty"),
        pytest.param("{", "", id="unreadable"),
        pytest.param(
            json.dumps({"owner": f'"trace":"{SAMPLED}"', "trace": ""}), "", id="a-caller's-own-words"
        ),
    ],
)
def test_the_trace_is_read_off_an_events_text(text: str, root: str) -> None:
    assert id_of(text) == root


def test_a_header_is_told_again_without_what_is_not_of_the_trace() -> None:
    trace = Trace.read(f"Root={ROOT}; Self=1-x; Parent={PARENT}; Sampled=1; Lineage=a:1")

    assert trace is not None
    assert trace.header == SAMPLED
    assert of_event(json.dumps({"trace": trace.header})) == trace


def test_the_relay_records_what_an_event_waited_for(world: World, daemon: Daemon) -> None:
    environ = {**world.deployment.environ, DAEMON: daemon.address}
    relay = relay_handler().on(replace(world.deployment, environ=environ))
    born = THING_DONE.new(
        "thing-1",
        ThingDone(customer="ada", amount=1),
        sequence=1,
        time=NOW,
        owner="ada",
        trace=SAMPLED,
    )
    change = {
        "Keys": {"pk": {"S": "thing-1"}, "sk": {"S": "entity"}},
        "NewImage": {"event": {"S": born.to_json()}},
        "SequenceNumber": "1",
        "ApproximateCreationDateTime": NOW.timestamp() - 3,
    }

    answer = relay({"Records": [{"eventName": "INSERT", "dynamodb": change}]}, None)  # type: ignore[arg-type]

    assert answer == {"batchItemFailures": []}
    (segment,) = daemon.heard()
    assert (segment["name"], segment["trace_id"]) == ("relay", ROOT)
    assert segment["end_time"] - segment["start_time"] == 3
