"""The entry of a function behind the HTTP API."""

from collections.abc import Callable
from typing import Any

from ..http import Respond, answer
from .deployment import Deployment
from .entry import Entry, LambdaContext, LambdaHandler


def http_entry(build: Callable[[Deployment], Respond]) -> Entry:
    """A handler for API Gateway's payload format 2.0, from what builds its responder."""

    def bind(deployment: Deployment) -> LambdaHandler:
        respond = build(deployment)

        def handle(event: Any, _context: LambdaContext) -> dict[str, Any]:
            return answer(respond, event).to_gateway()

        return handle

    return Entry(bind)
