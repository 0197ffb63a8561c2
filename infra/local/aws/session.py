"""Ordinary boto3 clients, answered in process.

A `before-send` hook that returns a response keeps botocore from opening a socket. What the hook sees is the
request as it would go out, signed and serialised; what it returns is parsed, checked and retried like any
answer of AWS.
"""

import io
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import boto3
import botocore.session
from botocore import UNSIGNED
from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.config import Config

from infra.local.aws import wire
from infra.local.aws.descriptions import LOADER
from infra.local.aws.messages import Answer, Request

if TYPE_CHECKING:
    from boto3.session import Session

    from infra.local.aws.model import LocalAws

_NOBODY = "local"


def session(aws: "LocalAws") -> "Session":
    """A session with credentials of nobody; its clients reach the model and nothing else."""
    return answered_by(lambda request: wire.answer(aws, request), aws.region.name)


def answered_by(answer: Callable[[Request], Answer], region: str) -> "Session":
    """A session whose clients' requests this function answers."""
    core = botocore.session.get_session()
    core.register_component("data_loader", LOADER)
    made = boto3.Session(_NOBODY, _NOBODY, region_name=region, botocore_session=core)

    def answer_in_process(request: AWSPreparedRequest, **_: Any) -> Any:
        given = answer(_request(request))
        return AWSResponse(request.url, given.status, given.headers, _Body(given.body))  # type: ignore[arg-type]

    made.events.register("before-send", answer_in_process)
    return made


def unsigned(session: "Session") -> "Session":
    """The model asks nobody who they are, and signatures are a third of what a call costs."""
    session._session.set_default_client_config(Config(signature_version=UNSIGNED))
    return session


class _Body(io.BytesIO):
    """A response body as urllib3 would hand it out."""

    def stream(self, amt: int = 65_536, **_: Any) -> Iterator[bytes]:
        while chunk := self.read(amt):
            yield chunk


def _request(request: AWSPreparedRequest) -> Request:
    headers = {name.lower(): _text(value) for name, value in request.headers.items()}
    return Request(request.method, request.url, headers, _bytes(request.body))


def _bytes(body: Any) -> bytes:
    if hasattr(body, "read"):
        body = body.read()
    return body.encode() if isinstance(body, str) else bytes(body or b"")


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value
