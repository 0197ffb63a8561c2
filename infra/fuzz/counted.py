"""The local run as the fuzzer meets it: every answer is counted, and some are another's."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator

from infra.fuzz.plants import Fault, none
from infra.fuzz.settings import CALLERS
from infra.local.http_messages import HttpAnswer, HttpRequest
from infra.local.local_run import LocalRun


class FuzzedRun(LocalRun):
    """A local run that counts statuses by route. `fault` answers in its API's place."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.fault: Fault = none
        self.answers: Counter[tuple[str, int]] = Counter()
        self.callers: Counter[str] = Counter()
        self._counting = threading.Lock()

    def handle(self, request: HttpRequest) -> HttpAnswer:
        answer = self.fault(self, super().handle, request)
        route = self.stack.api.route_of(request.method, request.path) if self.stack.api else None
        if route:
            self._count(route, answer.status, request.header("authorization"))
        return answer

    def _count(self, route: str, status: int, authorization: str) -> None:
        callers = [name for name in CALLERS if authorization == f"Bearer {self.stack.token(name)}"]
        with self._counting:
            self.answers[route, status] += 1
            self.callers.update(callers)

    def tally(self) -> Iterator[str]:
        """A line for each route, how often it answered what; and how much each caller asked."""
        for route in sorted({route for route, _ in self.answers}):
            counts = sorted(
                (status, count) for (name, status), count in self.answers.items() if name == route
            )
            yield f"{route:<34} {'  '.join(f'{status} x {count}' for status, count in counts)}"
        yield f"requests with a token: {', '.join(f'{name} {self.callers[name]}' for name in CALLERS)}"
