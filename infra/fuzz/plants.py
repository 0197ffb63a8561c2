"""Faults planted on purpose in the API's answers: a run that misses one would miss a real one, too."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from infra.fuzz.settings import CALLERS
from infra.local.http_messages import HttpAnswer, HttpRequest
from infra.local.local_run import LocalRun

Ask = Callable[[HttpRequest], HttpAnswer]
Fault = Callable[[LocalRun, Ask, HttpRequest], HttpAnswer]


@dataclass(frozen=True)
class Plant:
    """`fault` answers in the API's place; at `paths` schemathesis finds it, and calls it `found_as`."""

    name: str
    fault: Fault
    paths: Sequence[str]
    found_as: str


def crash(_run: LocalRun, ask: Ask, request: HttpRequest) -> HttpAnswer:
    """500 for one value of one parameter."""
    if request.path == "/jobs" and "limit=100" in request.query.split("&"):
        return HttpAnswer(500, {"content-type": "application/json"}, b'{"message":"Internal Server Error"}')
    return ask(request)


def undocumented(_run: LocalRun, ask: Ask, request: HttpRequest) -> HttpAnswer:
    """A status that the contract does not know."""
    answer = ask(request)
    return replace(answer, status=418) if answer.status == 400 else answer


def misshapen(_run: LocalRun, ask: Ask, request: HttpRequest) -> HttpAnswer:
    """A document without a member that the contract promises."""
    answer = ask(request)
    if answer.status != 200:
        return answer
    document = {name: value for name, value in answer.json.items() if name != "jobs"}
    return replace(answer, body=json.dumps(document).encode())


def lenient(_run: LocalRun, ask: Ask, request: HttpRequest) -> HttpAnswer:
    """What must be refused is accepted."""
    answer = ask(request)
    if answer.status != 400:
        return answer
    headers = {"content-type": "application/json", "cache-control": "private, no-store"}
    return HttpAnswer(200, headers, b'{"state":"dead","jobs":[]}')


def unguarded(run: LocalRun, ask: Ask, request: HttpRequest) -> HttpAnswer:
    """What is one caller's is shown to any other."""
    answer = ask(request)
    if answer.status != 404 or request.method != "GET":
        return answer
    answers = (ask(_as(run, subject, request)) for subject in CALLERS)
    return next((each for each in answers if each.status == 200), answer)


def _as(run: LocalRun, subject: str, request: HttpRequest) -> HttpRequest:
    others = [(name, value) for name, value in request.headers if name != "authorization"]
    return replace(request, headers=[*others, ("authorization", f"Bearer {run.stack.token(subject)}")])


def none(_run: LocalRun, ask: Ask, request: HttpRequest) -> HttpAnswer:
    """The API as it is."""
    return ask(request)


PLANTS = (
    Plant("a crash", crash, ["/jobs"], "ServerError"),
    Plant("an undocumented status", undocumented, ["/jobs"], "UndefinedStatusCode"),
    Plant("a missing member", misshapen, ["/jobs"], "JsonSchemaError"),
    Plant("no validation", lenient, ["/jobs"], "AcceptedNegativeData"),
    Plant("no ownership", unguarded, ["/webhooks", "/webhooks/{id}"], "ObjectLevelAuthorizationViolation"),
)
