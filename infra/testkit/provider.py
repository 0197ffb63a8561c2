"""A provider behind the gate: every method that is called on it is a call that may fail."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from handlers.postroom.errors import NotActed, ProviderError, Transient
from infra.local.aws.clock import ManualClock
from infra.testkit.gate import Gate, Passing

PATIENCE_SECONDS = 5.0
"""How long a caller waits for an answer that does not come."""
RETRY_AFTER_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Said:
    """A call that reached the provider: what it was asked, whoever repeated it."""

    method: str
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]

    @property
    def key(self) -> str:
        """The idempotency key that came with it; empty when none did."""
        return str(self.kwargs.get("key", ""))


@dataclass
class Watched:
    """Stands where the provider would; `heard` is the provider's own log, oldest first."""

    name: str
    target: Any
    gate: Gate
    clock: ManualClock
    heard: list[Said] = field(default_factory=list)

    def __getattr__(self, method: str) -> Callable[..., Any]:
        if method.startswith("__"):
            raise AttributeError(method)
        return lambda *args, **kwargs: self._ask(Said(method, args, kwargs))

    def _ask(self, said: Said) -> Any:
        passing = self.gate.enter(self.name, said.method)
        return self.gate.play(passing, ProviderLine(self, passing, said))

    def perform(self, said: Said) -> Any:
        self.heard.append(said)
        return getattr(self.target, said.method)(*said.args, **said.kwargs)


@dataclass(frozen=True, slots=True)
class ProviderLine:
    """One call, in the errors that adapters raise."""

    provider: Watched
    passing: Passing
    said: Said

    @property
    def attempt(self) -> int:
        return self.passing.attempts

    def perform(self) -> Any:
        return self.provider.perform(self.said)

    def refuse(self, *, throttled: bool) -> Any:
        if throttled:
            raise ProviderError(429, "too many requests", retry_after_seconds=RETRY_AFTER_SECONDS)
        raise ProviderError(503, "out of order")

    def miss(self) -> Any:
        raise NotActed("the provider cannot be reached")

    def lose(self) -> Any:
        self.provider.clock.advance(PATIENCE_SECONDS)
        raise Transient("the provider did not answer")

    def resend(self) -> Any:
        # an adapter may send what has a key again by itself; what has none, it must not
        return self.perform() if self.said.key else self.lose()

    def perform_partly(self) -> Any:
        return self.perform()

    def meanwhile(self) -> None:
        self.provider.gate.race()
