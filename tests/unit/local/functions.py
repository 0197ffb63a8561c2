"""A function whose handler a test writes down as a plain callable."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from infra.local.functions import Context, Function, FunctionSettings, Invocation


class Clock:
    def __init__(self) -> None:
        self.now = 1_750_000_000.0

    def __call__(self) -> float:
        return self.now


class Inline:
    def __init__(self, handler: Callable[[Any, Context], Any]) -> None:
        self._handler = handler

    def run(self, event: Any, context: Context) -> Any:
        return self._handler(event, context)

    def refresh(self) -> None: ...

    def close(self) -> None: ...


class Probe:
    """A function that keeps its invocations; `answers` are given in turn, the last one for ever."""

    def __init__(self, *answers: Any, timeout: float = 30, clock: Clock | None = None) -> None:
        self.clock = clock or Clock()
        self.stopping = threading.Event()
        self.invocations: list[Invocation] = []
        self._answers = list(answers) or [None]
        settings = FunctionSettings("Probe", "arn:aws:lambda:eu-west-1:1:function:Probe", "x.y", {}, timeout)
        self.function = Function(
            settings, Inline(self._next), self.clock, self.invocations.append, self.stopping
        )

    @property
    def events(self) -> list[Any]:
        return [invocation.event for invocation in self.invocations]

    def _next(self, event: Any, context: Context) -> Any:
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer(event, context) if callable(answer) else answer


def failing(*identifiers: str) -> dict[str, Any]:
    return {"batchItemFailures": [{"itemIdentifier": identifier} for identifier in identifiers]}
