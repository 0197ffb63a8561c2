"""What the conformance tests run against. A further backend is a class here and a name in `BACKENDS`."""

import atexit
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Protocol

import boto3
import botocore.session
import pytest
from botocore.loaders import create_loader
from moto import mock_aws

from infra.deploy_local.ministack import MiniStack
from infra.deploy_local.ministack import running as run_ministack
from infra.local.aws import LocalAws, ManualClock, wire
from infra.local.aws.messages import Answer, Request
from infra.local.aws.session import answered_by

if TYPE_CHECKING:
    from boto3.session import Session

MINISTACK = "POSTROOM_MINISTACK"
"""The variable that names MiniStack's executable, and so makes it the third backend (`make conformance`)."""
REGION = "eu-west-1"
START = 1_750_000_000.0


class Backend(Protocol):
    """An AWS, near enough, whose time the tests move."""

    def client(self, service: str) -> Any: ...

    def advance(self, seconds: float) -> None: ...


class Model:
    """Our own."""

    def __init__(self) -> None:
        self.clock = ManualClock(START)
        self.aws = LocalAws(self.clock, region=REGION)

    def client(self, service: str) -> Any:
        _Current.model = self
        return _model_client(service)

    def advance(self, seconds: float) -> None:
        self.clock.advance(seconds)


class Moto:
    """Moto, with a clock."""

    def __init__(self) -> None:
        self._clock = ManualClock(START)

    def client(self, service: str) -> Any:
        return _moto_client(service)

    def advance(self, seconds: float) -> None:
        self._clock.advance(seconds)

    def seconds(self) -> float:
        # Real time never stands still, and moto counts on that: a lease ends just after its last instant.
        self._clock.advance(0.000_001)
        return self._clock.now()

    def milliseconds(self) -> float:
        return self.seconds() * 1000


@contextmanager
def model() -> Iterator[Backend]:
    yield Model()


@contextmanager
def moto() -> Iterator[Backend]:
    with pytest.MonkeyPatch.context() as patch, mock_aws():
        # Otherwise the SDK puts the account into the streams endpoint's name, which moto does not answer.
        patch.setenv("AWS_ACCOUNT_ID_ENDPOINT_MODE", "disabled")
        backend = Moto()
        # moto's queues have no clock to inject; these two functions are what they read the time with.
        patch.setattr("moto.sqs.models.unix_time", backend.seconds)
        patch.setattr("moto.sqs.models.unix_time_millis", backend.milliseconds)
        yield backend


@dataclass(frozen=True)
class Emulator:
    """MiniStack, in a process of its own, forgetting everything before each test."""

    ministack: MiniStack

    def client(self, service: str) -> Any:
        return _emulator_client(self.ministack, service)

    def advance(self, seconds: float) -> None:
        pytest.skip(f"MiniStack's clock is the machine's: this test moves it by {seconds:g} s")


@contextmanager
def ministack() -> Iterator[Backend]:
    emulator = _running_ministack()
    emulator.reset()
    yield Emulator(emulator)


BACKENDS: dict[str, Callable[[], AbstractContextManager[Backend]]] = {"model": model, "moto": moto}
if MINISTACK in os.environ:
    BACKENDS["ministack"] = ministack


@cache
def _running_ministack() -> MiniStack:
    """Started by the first test that needs it; ends with this process."""
    running = ExitStack()
    atexit.register(running.close)
    place = Path(running.enter_context(TemporaryDirectory(prefix="postroom-")))
    program = Path(os.environ[MINISTACK]).absolute()
    return running.enter_context(run_ministack(program, place, place / "log"))


@cache
def _emulator_client(emulator: MiniStack, service: str) -> Any:
    return emulator.client(service)


# Making a client takes much longer than calling it: clients outlive the tests, what is behind them does not.


class _Current:
    model: Model


def _answer(request: Request) -> Answer:
    return wire.answer(_Current.model.aws, request)


@cache
def _model_session() -> "Session":
    return answered_by(_answer, REGION)


@cache
def _model_client(service: str) -> Any:
    return _model_session().client(service)  # type: ignore[call-overload]


@cache
def _moto_session() -> "Session":
    core = botocore.session.get_session()
    core.register_component("data_loader", create_loader())
    return boto3.Session("testing", "testing", region_name=REGION, botocore_session=core)


@cache
def _moto_client(service: str) -> Any:
    """First asked for while moto runs: it hooks into the sessions made from then on."""
    return _moto_session().client(service)  # type: ignore[call-overload]
