from __future__ import annotations

import json
import logging
from typing import Any

import pytest

from infra.local.functions import FunctionError, Invocation
from infra.local.narration import Narrator, TracebackOnce
from tests.unit.local.functions import failing


class Terminal:
    def __init__(self) -> None:
        self.lines: list[str] = []

    def __call__(self, line: str) -> None:
        self.lines.append(line)

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


@pytest.fixture
def terminal() -> Terminal:
    return Terminal()


@pytest.fixture
def logger(terminal: Terminal) -> logging.Logger:
    logger = logging.Logger("test")
    logger.addHandler(TracebackOnce(terminal))
    return logger


def record(count: int, body: str = '{"id": "order-1001-paid"}') -> dict[str, Any]:
    attributes = {"ApproximateReceiveCount": str(count)}
    return {"messageId": "m-1", "body": body, "attributes": attributes, "eventSource": "aws:sqs"}


def invocation(event: Any, answer: Any = None, error: FunctionError | None = None) -> Invocation:
    return Invocation("WorkFunction", event, "request-1", 0.0, 0.012, answer, error)


def fail_in(logger: logging.Logger, place: str) -> None:
    try:
        _fail_here(place) if place == "here" else _fail_there(place)
    except ValueError as error:
        logger.warning("job.attempt_failed", exc_info=error, extra={"job": "order-1001-paid:receipts"})


def _fail_here(place: str) -> None:
    raise ValueError(place)


def _fail_there(place: str) -> None:
    raise ValueError(place)


def test_traceback_shows_once_and_each_failure_as_a_line(terminal: Terminal, logger: logging.Logger) -> None:
    for place in ("here", "here", "there"):
        fail_in(logger, place)

    assert terminal.text.count("Traceback") == 2
    assert terminal.text.count("✗ job.attempt_failed  job=order-1001-paid:receipts  ValueError: here") == 2


def test_trace_that_the_engine_has_cleared_of_persons_shows_once_as_well(
    terminal: Terminal, logger: logging.Logger
) -> None:
    trace = 'Traceback (most recent call last):\n  File "a.py", line 1, in send\nValueError: to [e-mail]'

    for attempt in (1, 2):
        logger.warning("job.attempt_failed", extra={"attempt": attempt, "trace": trace})

    assert terminal.text.count("Traceback") == 1
    assert "✗ job.attempt_failed  attempt=2  ValueError: to [e-mail]" in terminal.text


def test_information_is_left_to_the_narrator(terminal: Terminal, logger: logging.Logger) -> None:
    logger.info("job.completed")

    assert terminal.lines == []


def test_done_and_coming_back_are_told_a_line_each(terminal: Terminal) -> None:
    tell = Narrator(terminal)

    tell(invocation({"Records": [record(1)]}, failing("m-1")))
    tell(invocation({"Records": [record(2)]}, failing()))

    first, second = (line.split("  ", 1)[1] for line in terminal.lines)
    assert first == "↻ work       comes back  order-1001-paid"
    assert second == "✓ work       done  order-1001-paid  (received 2 times)"


def test_message_that_cannot_be_read_is_told_by_its_id(terminal: Terminal) -> None:
    Narrator(terminal)(invocation({"Records": [record(1, "null")]}, failing("m-1")))

    assert "message m-1" in terminal.text


def test_failed_call_shows_its_trace_once(terminal: Terminal) -> None:
    tell = Narrator(terminal)
    error = FunctionError("ValueError", "as asked", "Traceback ...")

    for _ in range(2):
        tell(invocation({"Records": [record(1)]}, error=error))

    assert terminal.text.count("Traceback") == 1
    assert terminal.text.count("✗ WorkFunction failed  ValueError: as asked") == 2


def test_request_is_told_with_its_answer(terminal: Terminal) -> None:
    event = {"requestContext": {}, "routeKey": "POST /checkout", "rawPath": "/checkout"}

    Narrator(terminal)(
        invocation(event, {"statusCode": 202, "headers": {"Location": "/jobs/1"}, "body": json.dumps({})})
    )

    assert terminal.lines[0].split("  ", 1)[1] == "→ POST /checkout  202 /jobs/1  12 ms"


@pytest.mark.parametrize(("status", "told"), [(200, 0), (304, 0), (404, 1), (500, 1)])
def test_look_at_a_status_is_told_only_when_it_goes_wrong(terminal: Terminal, status: int, told: int) -> None:
    event = {"requestContext": {}, "routeKey": "GET /jobs/{id}", "rawPath": "/jobs/1"}

    Narrator(terminal)(invocation(event, {"statusCode": status}))

    assert len(terminal.lines) == told
