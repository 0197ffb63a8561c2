"""The entry of a function behind the HTTP API."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from ..change import Change, Changes
from ..http import Respond, Routes, answer
from .deployment import Deployment
from .entry import Entry, LambdaContext, LambdaHandler
from .tables import DynamoStore


def http_entry(build: Callable[[Deployment], Respond]) -> Entry:
    """A handler for API Gateway's payload format 2.0, from what builds its responder."""

    def bind(deployment: Deployment) -> LambdaHandler:
        respond = build(deployment)

        def handle(event: Any, _context: LambdaContext) -> dict[str, Any]:
            return answer(respond, event).to_gateway()

        return handle

    return Entry(bind)


def changes_entry(*changes: Change[Any]) -> Entry:
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
