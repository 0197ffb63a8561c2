"""The whole template, running on the AWS model: no threads and no sockets, driven step by step."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from handlers.postroom.aws.deployment import Deployment as Surroundings
from infra.expand import expand, parameter_values, read_template
from infra.local.aws import LocalAws, shortcut
from infra.local.aws.direct import Direct
from infra.local.aws.session import unsigned
from infra.local.deploy import Deployment
from infra.local.functions import Function, FunctionSettings, InProcess, Invocation, Observer, Runner
from infra.local.heartbeat import Heartbeat, Holding, not_holding
from infra.local.http_api import HttpApi
from infra.local.http_messages import HttpAnswer, HttpRequest
from infra.local.resources import Account
from infra.local.schedules import Schedule, Scheduled, ScheduledElsewhere
from infra.local.sources import ModelQueue, ModelStream
from infra.local.wiring import Mapped, Sources, function_settings, http_api, mappings, schedules

RunnerFactory = Callable[[FunctionSettings, Callable[[], Surroundings]], Runner]


class Pollable(Protocol):
    """A mapping or schedule: a source of work. A piece of work returns how many records it handed over."""

    @property
    def name(self) -> str: ...

    @property
    def concurrency(self) -> int: ...

    def claim(self) -> Callable[[], int] | None: ...

    def next_due(self) -> float | None: ...


def poll(pollable: Pollable) -> int:
    """Do one piece of its work now. Returns the number of records handed to the function."""
    work = pollable.claim()
    return work() if work else 0


def in_process(settings: FunctionSettings, surroundings: Callable[[], Surroundings]) -> Runner:
    return InProcess(settings.handler, surroundings)


@dataclass(frozen=True)
class Options:
    """How a stack is run.

    `overrides` replace variables of functions that declare them; `changes` replace properties of resources,
    by logical id; `metrics` takes the functions' lines of metrics, which are not made without it;
    `shortcut` answers the busiest calls without their way over the wire;
    `heartbeat` keeps messages from coming back while their function runs, which the Lambda service does not.
    """

    changes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    parameters: Mapping[str, str] = field(default_factory=dict)
    overrides: Mapping[str, str] = field(default_factory=dict)
    observers: Sequence[Observer] = ()
    runner: RunnerFactory = in_process
    metrics: Callable[[str], None] | None = None
    seed: int = 0
    shortcut: bool = False
    heartbeat: bool = False


class Stack:
    """One deployed template."""

    def __init__(
        self, template: Mapping[str, Any], parameters: Mapping[str, str], aws: LocalAws, options: Options
    ) -> None:
        self.aws = aws
        self.observers: list[Observer] = list(options.observers)
        self.stopping = threading.Event()
        self._options = options
        self._random = random.Random(options.seed)  # noqa: S311 (repeatable, not secret)
        self._session = unsigned(aws.session())
        if options.shortcut:
            shortcut.take(self._session, aws)
        # One for all environments: a client takes some 20 ms to make, and any thread may use it.
        self._surroundings = Surroundings(
            {},
            self._session,
            clock=self.now,
            chance=self._random.random,
            new_id=lambda: f"{self._random.getrandbits(96):024x}",
            sleep=self.aws.region.clock.sleep,
            emit=options.metrics or print,
        )
        self._heartbeat = Heartbeat(aws.region) if options.heartbeat else None
        self.deployed = Deployment(
            template,
            parameters,
            # CloudFormation's own way to the services: not over the wire, whose cost would be each test's
            Account(Direct(aws).as_session(), aws.region.account, aws.region.name, self.now),
        )
        self.functions: Mapping[str, Function] = {
            settings.name: self._function(settings) for settings in function_settings(self.deployed)
        }
        arns = {arn: function for function in self.functions.values() for arn in self._arns(function)}
        # Before the schedules that call them.
        aws.scheduler.functions.update(arns)
        self.deployed.make_all()
        self.mappings: Sequence[Mapped] = mappings(self.deployed, self.functions, self._sources())
        self.schedules: Sequence[Schedule] = schedules(self.deployed, self.functions, aws.scheduler, self.now)
        self._own_schedules = {each.arn for each in self.schedules if isinstance(each, Scheduled)}
        self._elsewhere = ScheduledElsewhere(aws.scheduler, arns, self._own_schedules)
        self.api: HttpApi | None = http_api(self.deployed, self.functions)
        self.outputs: Mapping[str, str] = self.deployed.outputs()
        self._tokens: dict[str, str] = {}

    @classmethod
    def from_template(cls, path: Path, aws: LocalAws, options: Options = Options()) -> Stack:
        """Expand the SAM template at `path` and bring it up on `aws`."""
        parameters = parameter_values(read_template(path), options.parameters)
        expanded = expand(path, options.parameters, region=aws.region.name)
        for logical_id, properties in options.changes.items():
            expanded["Resources"][logical_id]["Properties"].update(properties)
        return cls(expanded, parameters, aws, options)

    def now(self) -> float:
        """Epoch seconds on the model's clock."""
        return self.aws.region.clock.now()

    def ref(self, logical_id: str) -> str:
        """What `Ref` of a resource gives: a table's name, a queue's URL, a topic's ARN."""
        return self.deployed.ref(logical_id)

    def mapping_of(self, function: str) -> Mapped:
        """The mapping that feeds a function. Raises `StopIteration` when none does."""
        return next(mapping for mapping in self.mappings if mapping.function.name == function)

    def call(
        self,
        method: str,
        target: str,
        headers: Mapping[str, str] | None = None,
        body: bytes | str = b"",
        subject: str | None = "alice",
    ) -> HttpAnswer:
        """Send a request through the HTTP API, with a token of `subject` unless that is None."""
        token = {"authorization": f"Bearer {self.token(subject)}"} if subject is not None else {}
        return self.handle(HttpRequest.of(method, target, {**token, **(headers or {})}, body))

    def handle(self, request: HttpRequest) -> HttpAnswer:
        """Answer an HTTP request. Raises `LookupError` when the template has no HTTP API."""
        if self.api is None:
            raise LookupError("the template has no HTTP API")
        return self.api.handle(request, self.now())

    def token(self, subject: str) -> str:
        """A development token for a caller; the same one each time."""
        if self.api is None or self.api.issuer is None:
            raise LookupError("the template has no JWT authorizer")
        if subject not in self._tokens:
            self._tokens[subject] = self.api.issuer.token(subject)
        return self._tokens[subject]

    @property
    def pollables(self) -> Sequence[Pollable]:
        beating = [self._heartbeat] if self._heartbeat else []
        return [*beating, *self.mappings, *self.schedules, self._elsewhere]

    def settle(self) -> int:
        """Poll everything until nothing moves at this instant. Returns the records handed to functions."""
        total = 0
        while moved := sum(map(poll, self.pollables)):
            total += moved
        return total

    def next_due(self) -> float | None:
        """When something happens next by itself (epoch seconds): a message, a retried batch, a schedule."""
        # Where the template's are taken out, nobody takes what they call: they are nothing to stop for.
        recurring = bool(self.schedules) or not self._own_schedules
        times = [self.aws.next_due(recurring), *(pollable.next_due() for pollable in self.pollables)]
        return min((time for time in times if time is not None), default=None)

    def next_work(self) -> float | None:
        """Like `next_due`, without recurring schedules, which are never done."""
        times = [self.aws.next_due(), *(mapping.next_due() for mapping in self.mappings)]
        return min((time for time in times if time is not None), default=None)

    def refresh(self) -> None:
        """Take up changed code."""
        for function in self.functions.values():
            function.runner.refresh()

    def close(self) -> None:
        """Stop claiming; what runs gives back what it has not started."""
        self.stopping.set()
        for function in self.functions.values():
            function.runner.close()

    def observe(self, invocation: Invocation) -> None:
        for observer in self.observers:
            observer(invocation)

    def _arns(self, function: Function) -> list[str]:
        """Its own and those of its aliases."""
        aliases = self.deployed.of_type("AWS::Lambda::Alias")
        names = [alias["Name"] for _, alias in aliases if alias["FunctionName"] == function.name]
        return [function.settings.arn, *(f"{function.settings.arn}:{name}" for name in names)]

    def _function(self, settings: FunctionSettings) -> Function:
        overrides = {
            name: value for name, value in self._options.overrides.items() if name in settings.environ
        }
        environ = {**settings.environ, **overrides}
        if self._options.metrics is None:
            environ.pop("METRICS_NAMESPACE", None)
        changed = FunctionSettings(**{**vars(settings), "environ": environ})
        runner = self._options.runner(changed, lambda: replace(self._surroundings, environ=changed.environ))
        return Function(changed, runner, self.now, self.observe, self.stopping)

    def _sources(self) -> Sources:
        sqs = self.aws.sqs
        return Sources(
            queue=lambda arn: ModelQueue(self.aws.region, sqs.queue(arn)),
            stream=lambda arn: ModelStream(self.aws.region, self.aws.dynamodb.stream(arn)),
            send=self._send,
            clock=self.now,
            stopping=self.stopping,
            wait=self._wait,
            holding=self._holding,
        )

    def _holding(self, arn: str) -> Holding:
        return self._heartbeat.holding(self.aws.sqs.queue(arn)) if self._heartbeat else not_holding

    def _wait(self, seconds: float) -> None:
        condition = self.aws.region.changed
        with condition:
            self.aws.region.clock.wait(condition, seconds)

    def _send(self, arn: str, body: str) -> None:
        url = self.aws.sqs.queue(arn).url
        self._session.client("sqs").send_message(QueueUrl=url, MessageBody=body)
