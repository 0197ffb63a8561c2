"""What the conformance tests run against. A further backend is a class here and a name in `BACKENDS`."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol

import boto3
import botocore.session
import pytest
from botocore.loaders import create_loader
from moto import mock_aws

from infra.local.aws import LocalAws, ManualClock

REGION = "eu-west-1"
# Read once: describing the services takes longer than all the rest.
_LOADER = create_loader()
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
        self._session = self.aws.session()

    def client(self, service: str) -> Any:
        return self._session.client(service)  # type: ignore[call-overload]

    def advance(self, seconds: float) -> None:
        self.clock.advance(seconds)


class Moto:
    """Clients are made after moto has started: it hooks into sessions made from then on."""

    def __init__(self) -> None:
        self._clock = ManualClock(START)
        core = botocore.session.get_session()
        core.register_component("data_loader", _LOADER)
        self._session = boto3.Session("testing", "testing", region_name=REGION, botocore_session=core)

    def client(self, service: str) -> Any:
        return self._session.client(service)  # type: ignore[call-overload]

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


BACKENDS: dict[str, Callable[[], AbstractContextManager[Backend]]] = {"model": model, "moto": moto}
