"""The entry of a function behind the HTTP API."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from ..change import Change, Changes
from ..http import Respond, Routes, answer
from .deployment import Deployment
from .entry import Entry, LambdaContext, LambdaHandler
from .tables import DynamoStore
from .xray import lambdas_trace


class HttpEntry(Entry):
    """An `Entry` behind the HTTP API, that tells who answers in it."""

    def __init__(self, responder: Callable[[Deployment], Respond]) -> None:
        super().__init__(lambda deployment: _handler(responder(deployment), deployment))
        self.responder = responder


def http_entry(build: Callable[[Deployment], Respond]) -> HttpEntry:
    """A handler for API Gateway's payload format 2.0, from what builds its responder."""
    return HttpEntry(build)


def _handler(respond: Respond, deployment: Deployment) -> LambdaHandler:
    def handle(event: Any, _context: LambdaContext) -> dict[str, Any]:
        return answer(respond, _traced(event, deployment)).to_gateway()

    return handle


def _traced(event: Mapping[str, Any], deployment: Deployment) -> Mapping[str, Any]:
    """The request in Lambda's own trace, which knows whether it is sampled and what to go on from."""
    trace = lambdas_trace(deployment)
    return (
        {**event, "headers": {**(event.get("headers") or {}), "x-amzn-trace-id": trace}} if trace else event
    )


def changes_entry(*changes: Change[Any]) -> HttpEntry:
    """A handler for routes that change what is there."""

    def build(deployment: Deployment) -> Respond:
        store = DynamoStore(deployment)

        def pause(longest_seconds: float) -> None:
            deployment.sleep(deployment.chance() * longest_seconds)

        return Routes(
            {each.route: Changes(each, store, lambda: now_of(deployment), pause) for each in changes}
        )

    return http_entry(build)


def now_of(deployment: Deployment) -> datetime:
    return datetime.fromtimestamp(deployment.clock(), UTC)
