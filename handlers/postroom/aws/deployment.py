"""Where a function runs: its environment, clients, clock, chance and ids, handed inward from here."""

import os
import random
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ..errors import PostroomError

if TYPE_CHECKING:
    from boto3.session import Session

CONNECT_TIMEOUT_SECONDS = 1
READ_TIMEOUT_SECONDS = 2
CALL_ATTEMPTS = 3
"""(connect + read) × attempts stays well below every function's timeout, so that a hanging endpoint is an
error we report and not a killed function (SDK defaults: 60 s each, up to 10 tries for DynamoDB).
docs.aws.amazon.com/boto3/latest/guide/configuration.html"""


class MissingSetting(PostroomError):
    """An environment variable that the template should set is missing or empty."""


@dataclass(frozen=True)
class Deployment:
    """One function's surroundings. `clock` gives epoch seconds, `chance` a number in [0, 1)."""

    environ: Mapping[str, str]
    session: "Session"
    clock: Callable[[], float] = time.time
    chance: Callable[[], float] = random.random
    new_id: Callable[[], str] = field(default=lambda: secrets.token_hex(12))
    sleep: Callable[[float], None] = time.sleep
    emit: Callable[[str], None] = print
    """Writes a line of metrics: to stdout, which Lambda puts into the function's log group."""
    call_attempts: int = CALL_ATTEMPTS
    _clients: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)
    _making: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

    @classmethod
    def from_process(cls) -> "Deployment":
        """The deployed case: this process's environment and AWS's own endpoints."""
        import boto3

        return cls(os.environ, boto3.Session())

    def setting(self, name: str) -> str:
        value = self.environ.get(name, "")
        if not value:
            raise MissingSetting(
                f"the environment variable {name} is not set: see the function's template block"
            )
        return value

    def without_resend(self) -> "Deployment":
        """The same with clients that send each call once: for what must not be done twice behind our back."""
        return replace(self, call_attempts=1, _clients={}, _making=threading.Lock())

    def client(self, service: str) -> Any:
        """The low-level client of a service, made once, on first use."""
        made = self._clients.get(service)
        if made is not None:
            return made
        with self._making:
            if service not in self._clients:
                self._clients[service] = self._new_client(service)
            return self._clients[service]

    def _new_client(self, service: str) -> Any:
        from botocore.config import Config

        config = Config(
            connect_timeout=CONNECT_TIMEOUT_SECONDS,
            read_timeout=READ_TIMEOUT_SECONDS,
            retries={"mode": "standard", "total_max_attempts": self.call_attempts},
            parameter_validation=False,
            max_pool_connections=10,
        )
        return self.session.client(service, config=config)  # type: ignore[call-overload]
