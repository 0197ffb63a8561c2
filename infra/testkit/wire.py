"""Real boto3 clients whose requests pass the gate on their way into the model.

Making a client costs more than a whole scenario, so a process makes each once and plugs it into one rig after
the other. What a client remembers, which is how much its retries may still cost, starts anew with each.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from botocore import UNSIGNED
from botocore.config import Config
from botocore.exceptions import ConnectTimeoutError, ReadTimeoutError
from botocore.retries import standard

from handlers.postroom.aws.deployment import CALL_ATTEMPTS, CONNECT_TIMEOUT_SECONDS, READ_TIMEOUT_SECONDS
from infra.local.aws import LocalAws
from infra.local.aws.clock import ManualClock
from infra.local.aws.direct import DirectClient
from infra.local.aws.errors import AwsError
from infra.local.aws.session import session
from infra.local.aws.switches import THROTTLED
from infra.testkit.gate import Gate, Passing

SDK_PAUSE_SECONDS = 0.05
"""What a retry by the SDK takes on the rig's clock; its own delay is random, and would really be slept."""


@dataclass(frozen=True, slots=True)
class AwsLine:
    """One request as AWS would receive it."""

    wire: "Wire"
    passing: Passing
    service: str
    operation: str
    params: Mapping[str, Any]

    @property
    def attempt(self) -> int:
        return self.passing.attempts

    def perform(self) -> Any:
        return self.wire.aws.request(self.service, self.operation, self.params)

    def refuse(self, *, throttled: bool) -> Any:
        code, status = THROTTLED[self.service] if throttled else ("InternalServerError", 500)
        raise AwsError(code, "a fault of the test kit", status)

    def miss(self) -> Any:
        self.wire.clock.advance(CONNECT_TIMEOUT_SECONDS)
        raise ConnectTimeoutError(endpoint_url=self.service)

    def lose(self) -> Any:
        self.wire.clock.advance(READ_TIMEOUT_SECONDS)
        raise ReadTimeoutError(endpoint_url=self.service)

    def resend(self) -> Any:
        return self.lose()

    def perform_partly(self) -> Any:
        if self.attempt == 1:
            self.wire.aws.switches.partial(self.service, self.operation)
        return self.perform()

    def meanwhile(self) -> None:
        with self.wire.held():
            self.wire.gate.race()


class Wire:
    """Looks like a model to the session, and like a session to the code under test."""

    def __init__(self) -> None:
        self._clients: dict[tuple[str, str], Any] = {}
        self._retries: dict[tuple[str, int], Any] = {}
        self._passing = Passing(None)

    def plug(self, aws: LocalAws, clock: ManualClock, gate: Gate) -> None:
        """From now on every client's requests go there."""
        self.aws, self.clock, self.gate = aws, clock, gate
        self._retries.clear()

    @property
    def region(self) -> Any:
        return self.aws.region

    def client(self, service: str, config: Any = None) -> Any:
        """As `Session.client` of boto3."""
        key = service, repr(vars(config).get("_user_provided_options")) if config else ""
        if key not in self._clients:
            self._clients[key] = self._new_client(service, config)
        return _Client(self, service, self._clients[key])

    def request(self, service: str, operation: str, params: Mapping[str, Any]) -> Any:
        """What a request on the wire ends in."""
        passing = self._passing
        return self.gate.play(passing, AwsLine(self, passing, service, operation, params))

    def held(self) -> "_Held":
        """Keep the call under way while others are made in its middle."""
        return _Held(self, self._passing)

    def _new_client(self, service: str, config: Any) -> Any:
        fresh = session(cast(LocalAws, self))
        fresh._session.set_default_client_config(Config(signature_version=UNSIGNED))
        made = fresh.client(service, config=config)  # type: ignore[call-overload]
        name = made.meta.service_model.service_id.hyphenize()
        made.meta.events.unregister(f"needs-retry.{name}", unique_id=f"retry-config-{name}")
        made.meta.events.register(f"needs-retry.{name}", lambda **tried: self._needs_retry(made, tried))
        made.meta.events.register("before-call", self._begin)
        return made

    def _begin(self, model: Any, **_: Any) -> None:
        self._passing = self.gate.enter(model.service_model.service_name, model.name)

    def _needs_retry(self, client: Any, tried: Mapping[str, Any]) -> float | None:
        """The SDK's own decision, without its sleep."""
        service, configured = client.meta.service_model, client.meta.config.retries or {}
        attempts = int(configured.get("total_max_attempts", CALL_ATTEMPTS))
        key = service.service_name, attempts
        if key not in self._retries:
            unregistered: Any = _Unregistered(service)
            self._retries[key] = standard.register_retry_handler(unregistered, attempts)
        if self._retries[key].needs_retry(**tried) is None:
            return None
        self.clock.advance(SDK_PAUSE_SECONDS)
        return 0.0


@dataclass(frozen=True)
class _Client:
    """The real client where the gate is shut; where it is open, the short way, which costs a tenth."""

    wire: Wire
    service: str
    real: Any

    def __getattr__(self, name: str) -> Any:
        gate, aws = self.wire.gate, self.wire.aws
        return getattr(DirectClient(aws, self.service) if gate.is_open else self.real, name)


@dataclass(frozen=True, slots=True)
class _Held:
    wire: Wire
    passing: Passing

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        self.wire._passing = self.passing


@dataclass(frozen=True)
class _Unregistered:
    """Stands for a client where the SDK makes its retry handler, which is called by hand instead."""

    service_model: Any

    @property
    def meta(self) -> "_Unregistered":
        return self

    @property
    def events(self) -> "_Unregistered":
        return self

    def register(self, *_: Any, **__: Any) -> None:
        return None
