"""Lambda functions on this machine: an environment serves one call at a time, as on AWS."""

from __future__ import annotations

import importlib
import json
import os
import threading
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol
from uuid import uuid4

from handlers.postroom.aws.deployment import Deployment
from handlers.postroom.aws.entry import Entry, LambdaHandler


@dataclass(frozen=True)
class FunctionSettings:
    """What the template says of a function. `timeout` is in seconds, `memory` in MB."""

    name: str
    arn: str
    handler: str
    environ: Mapping[str, str]
    timeout: float = 3
    memory: int = 128


@dataclass(frozen=True)
class FunctionError:
    """How an invocation ended without an answer, as Lambda would report it."""

    kind: str
    message: str
    trace: str = ""


@dataclass(frozen=True)
class Invocation:
    """One call of a function and how it ended. `started` and `ended` are epoch seconds."""

    function: str
    event: Any
    request_id: str
    started: float
    ended: float
    answer: Any = None
    error: FunctionError | None = None


Observer = Callable[[Invocation], None]
Clock = Callable[[], float]


class Runner(Protocol):
    """How a function's code is run: in this process, or in one of its own."""

    def run(self, event: Any, context: Context) -> Any:
        """Return the handler's answer, or raise what it raised."""

    def refresh(self) -> None:
        """Take up changed code from the next call on."""

    def close(self) -> None: ...


class RunnerError(Exception):
    """The function ended without an answer of its own: a crash, or an error from another process."""

    def __init__(self, error: FunctionError) -> None:
        super().__init__(error.message)
        self.error = error


@dataclass(frozen=True)
class Context:
    """Lambda's context object. While the run is `stopping`, no time is left: unstarted work is given back."""

    settings: FunctionSettings
    aws_request_id: str
    deadline: float
    clock: Clock
    stopping: threading.Event = field(default_factory=threading.Event)

    @property
    def function_name(self) -> str:
        return self.settings.name

    @property
    def invoked_function_arn(self) -> str:
        return self.settings.arn

    @property
    def memory_limit_in_mb(self) -> str:
        return str(self.settings.memory)

    def get_remaining_time_in_millis(self) -> int:
        return 0 if self.stopping.is_set() else max(0, int((self.deadline - self.clock()) * 1000))


class Function:
    """One function of the template."""

    def __init__(
        self,
        settings: FunctionSettings,
        runner: Runner,
        clock: Clock,
        observe: Observer,
        stopping: threading.Event,
    ) -> None:
        self.settings = settings
        self.runner = runner
        self._clock = clock
        self._observe = observe
        self._stopping = stopping

    @property
    def name(self) -> str:
        return self.settings.name

    def invoke(self, event: Any) -> Invocation:
        """Run the handler once. Errors are told in the `Invocation`, never raised."""
        started = self._clock()
        context = Context(
            self.settings, str(uuid4()), started + self.settings.timeout, self._clock, self._stopping
        )
        answer, error = self._outcome(event, context)
        ended = self._clock()
        if error is None and ended > context.deadline:
            # In this process an overlong call cannot be killed; to its caller it counts as killed.
            answer, error = None, timed_out(self.settings.timeout)
        invocation = Invocation(self.name, event, context.aws_request_id, started, ended, answer, error)
        self._observe(invocation)
        return invocation

    def _outcome(self, event: Any, context: Context) -> tuple[Any, FunctionError | None]:
        try:
            answer = self.runner.run(event, context)
            json.dumps(answer)
        except RunnerError as crash:
            return None, crash.error
        except Exception as error:  # noqa: BLE001 (whatever a handler raises is its invocation's outcome)
            return None, FunctionError(type(error).__name__, str(error), traceback.format_exc())
        return answer, None


def timed_out(seconds: float) -> FunctionError:
    return FunctionError("Sandbox.Timedout", f"Task timed out after {seconds:.2f} seconds")


@dataclass
class InProcess:
    """Runs a handler in this process, so that breakpoints work.

    Like Lambda, an environment (a handler bound to its deployment) serves one call at a time and is kept for
    the next one; calls at the same time have an environment each. `entry`, if given, replaces the handler.
    """

    handler: str
    deployment: Callable[[], Deployment]
    entry: Entry | None = None
    _idle: list[LambdaHandler] = field(default_factory=list)
    _generation: int = 0

    def run(self, event: Any, context: Context) -> Any:
        generation = self._generation
        handler = self._take()
        try:
            return handler(event, context)
        finally:
            if generation == self._generation:
                self._idle.append(handler)

    def refresh(self) -> None:
        self._generation += 1
        self._idle.clear()

    def close(self) -> None:
        self._idle.clear()

    def _take(self) -> LambdaHandler:
        try:
            return self._idle.pop()
        except IndexError:
            deployment = self.deployment()
            return self.entry.on(deployment) if self.entry else bound(self.handler, deployment)


def bound(path: str, deployment: Deployment) -> LambdaHandler:
    """Import the handler at `package.module.name`, bound to `deployment` if it can be.

    Raises `ImportError` or `AttributeError` when there is no such handler.
    """
    module, _, name = path.rpartition(".")
    handler = getattr(importlib.import_module(module), name)
    # By its method and not its class: after a reload the class is another one of the same name.
    bind: Callable[[Deployment], LambdaHandler] | None = getattr(handler, "on", None)
    return bind(deployment) if bind else handler


def import_trouble(path: str) -> str | None:
    """Why the handler at `package.module.name` cannot be imported; None when it can."""
    module, _, name = path.rpartition(".")
    try:
        getattr(importlib.import_module(module), name)
    except Exception as error:  # noqa: BLE001 (code at import may raise anything)
        return f"{type(error).__name__}: {error}"
    return None


def settle_subscribers() -> None:
    """Look for the subscribers now: one whose file comes later has no queue in what runs."""
    # What cannot be imported is told of where its function is.
    with suppress(Exception):
        importlib.import_module("handlers.postroom.discovery").job_types("handlers")


def process_environ(settings: FunctionSettings, region: str) -> dict[str, str]:
    """The variables of a function's own process: Lambda's, the template's, and this machine's search path."""
    inherited = {
        name: os.environ[name] for name in ("PATH", "HOME", "LANG", "VIRTUAL_ENV") if name in os.environ
    }
    return {
        **inherited,
        "AWS_REGION": region,
        "AWS_DEFAULT_REGION": region,
        "AWS_LAMBDA_FUNCTION_NAME": settings.name,
        "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(settings.memory),
        **settings.environ,
    }
