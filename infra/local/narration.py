"""What the local run tells on the terminal: each failure's traceback once, then one line an attempt."""

from __future__ import annotations

import json
import logging
import sys
import threading
import traceback
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

from infra.local.functions import Invocation

Print = Callable[[str], object]
_own_fields = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName", "trace"}


class TracebackOnce(logging.Handler):
    """Prints warnings and errors; a failure that was seen before shows as one line without its traceback.

    The traceback is the record's `exc_info`, or else its field `trace`, which names no person.
    """

    def __init__(self, show: Print) -> None:
        super().__init__(logging.WARNING)
        self._show = show
        self._seen: set[tuple[str, ...]] = set()

    def emit(self, record: logging.LogRecord) -> None:
        trace = _trace(record)
        last = f"  {trace.splitlines()[-1]}" if trace else ""
        self._show(f"{_time()}  ✗ {record.getMessage()}{_fields(record)}{last}")
        if trace and self._is_new(trace):
            self._show(trace)

    def _is_new(self, trace: str) -> bool:
        # The places of its frames, and not its words, which may tell of one order each.
        places = tuple(line for line in trace.splitlines() if line.startswith('  File "'))
        new = places not in self._seen
        self._seen.add(places)
        return new


class Narrator:
    """Tells of each invocation that changed something, a line for each record."""

    def __init__(self, show: Print) -> None:
        self._show = show
        self._failures: set[str] = set()
        self._lock = threading.Lock()

    def __call__(self, invocation: Invocation) -> None:
        if invocation.error is not None:
            self._tell_error(invocation)
        for line in _lines(invocation):
            self._show(f"{_time()}  {line}")

    def _tell_error(self, invocation: Invocation) -> None:
        error = invocation.error
        if error is None:
            return
        self._show(f"{_time()}  ✗ {invocation.function} failed  {error.kind}: {error.message}")
        with self._lock:
            new = bool(error.trace) and error.trace not in self._failures
            self._failures.add(error.trace)
        if new:
            self._show(error.trace.rstrip())


def _lines(invocation: Invocation) -> Iterable[str]:
    event = invocation.event if isinstance(invocation.event, dict) else {}
    if "requestContext" in event and not _is_polling(invocation, event):
        yield _request_line(invocation, event)
    for record in event.get("Records", ()):
        if record.get("eventSource") == "aws:sqs":
            yield _record_line(invocation, record)


def _is_polling(invocation: Invocation, event: Mapping[str, Any]) -> bool:
    """A look at a status that went well: many of these would hide the rest."""
    answer = invocation.answer if isinstance(invocation.answer, dict) else {}
    return str(event["routeKey"]).startswith("GET ") and answer.get("statusCode") in (200, 304)


def _request_line(invocation: Invocation, event: Mapping[str, Any]) -> str:
    answer = invocation.answer if isinstance(invocation.answer, dict) else {}
    took = (invocation.ended - invocation.started) * 1000
    where = answer.get("headers", {}).get("Location") or answer.get("headers", {}).get("location") or ""
    status = answer.get("statusCode", 500)
    return f"→ {event['routeKey'].split()[0]} {event['rawPath']}  {status} {where}  {took:.0f} ms"


def _record_line(invocation: Invocation, record: Mapping[str, Any]) -> str:
    name = invocation.function.removesuffix("Function").lower()
    count = int(record["attributes"]["ApproximateReceiveCount"])
    attempt = "" if count == 1 else f"  (received {count} times)"
    mark, outcome = ("↻", "comes back") if _has_failed(invocation, record) else ("✓", "done")
    return f"{mark} {name:<10} {outcome}  {_event_id(record)}{attempt}"


def _has_failed(invocation: Invocation, record: Mapping[str, Any]) -> bool:
    answer = invocation.answer if isinstance(invocation.answer, dict) else {}
    failed = [failure.get("itemIdentifier") for failure in answer.get("batchItemFailures") or ()]
    return invocation.error is not None or record["messageId"] in failed


def _event_id(record: Mapping[str, Any]) -> str:
    try:
        return str(json.loads(record["body"])["id"])
    except (ValueError, KeyError, TypeError):
        return f"message {record['messageId']}"


def _trace(record: logging.LogRecord) -> str:
    if record.exc_info and record.exc_info[1] is not None:
        return "".join(traceback.format_exception(record.exc_info[1])).rstrip()
    return str(getattr(record, "trace", "")).rstrip()


def _fields(record: logging.LogRecord) -> str:
    fields = {name: value for name, value in vars(record).items() if name not in _own_fields}
    return "".join(f"  {name}={value}" for name, value in fields.items())


def _time() -> str:
    return datetime.now().astimezone().strftime("%H:%M:%S")


def log_to_terminal(show: Print | None = None) -> None:
    """Send this process's log to the terminal."""
    handler = TracebackOnce(show or _to_stderr)
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)


def _to_stderr(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
