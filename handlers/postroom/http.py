"""Requests and answers, in the shape API Gateway hands them over and takes them back.

Source: docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html
(payload format 2.0)
"""

import base64
import binascii
import logging
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from . import strict_json
from .errors import ProviderError, Transient
from .operations import Operation, operations_of
from .problems import Problem, bad_request, internal_error, unauthenticated, unavailable
from .redaction import trace
from .retries import is_permanent, retry_after_seconds

logger = logging.getLogger("postroom.http")

MAX_TRACE_CHARACTERS = 128
MAX_CALLER_CHARACTERS = 255
"""What a subject may have (OpenID Connect Core 1.0 §2). Both bound what goes from a request into an event, so
that nothing accepted is too large to be relayed."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request by an authenticated caller. Header names are lower case."""

    caller: str
    headers: Mapping[str, str] = field(default_factory=dict)
    path_parameters: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    method: str = "GET"
    query: Mapping[str, str] = field(default_factory=dict)
    route: str = ""
    """Which of the API's routes it took: `POST /wallet/credits`."""

    @classmethod
    def from_gateway(cls, event: Mapping[str, Any]) -> "Request":
        """Raises `Problem`: 401 without a usable caller, 400 when the body is no base64 though it says so."""
        return cls(
            caller=_caller(event),
            headers={name.lower(): value for name, value in (event.get("headers") or {}).items()},
            path_parameters=event.get("pathParameters") or {},
            body=_body(event),
            method=_method(event),
            query=event.get("queryStringParameters") or {},
            route=event.get("routeKey") or "",
        )

    def header(self, name: str) -> str:
        return (self.headers.get(name.lower()) or "").strip()

    @property
    def trace(self) -> str:
        """The X-Ray trace the request belongs to; empty when there is none or it is no trace header."""
        trace = self.header("x-amzn-trace-id")
        return trace if _is_visible(trace, MAX_TRACE_CHARACTERS) else ""


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str = ""

    @classmethod
    def json(cls, status: int, body: str, headers: Mapping[str, str]) -> "Answer":
        """`body` is JSON text."""
        return cls(status, {"Content-Type": "application/json", **headers}, body)

    @classmethod
    def problem(cls, problem: Problem) -> "Answer":
        headers = {"Content-Type": "application/problem+json", "Cache-Control": "no-store", **problem.headers}
        return cls(problem.status, headers, strict_json.dumps(problem.document))

    def to_gateway(self) -> dict[str, Any]:
        return {
            "statusCode": self.status,
            "headers": dict(self.headers),
            "body": self.body,
            "isBase64Encoded": False,
        }


Respond = Callable[[Request], Answer]


@dataclass(frozen=True, slots=True)
class Routes:
    """Several routes of one function, by the API's route keys."""

    routes: Mapping[str, Respond]

    @property
    def operations(self) -> Sequence[Operation]:
        return [operation for each in self.routes.values() for operation in operations_of(each)]

    def __call__(self, request: Request) -> Answer:
        return self.routes[request.route](request)


def answer(respond: Respond, event: Mapping[str, Any]) -> Answer:
    """Let `respond` answer; whatever it raises becomes a problem that tells nothing of the inside."""
    try:
        return respond(Request.from_gateway(event))
    except Problem as problem:
        return Answer.problem(problem)
    except (Transient, ProviderError) as error:
        if is_permanent(error):
            return _our_fault(error)
        logger.warning("request.unavailable", extra={"trace": trace(error)})
        return Answer.problem(unavailable(max(1, math.ceil(retry_after_seconds(error) or 1))))
    except Exception as error:  # noqa: BLE001 - the caller gets an answer whatever happens
        return _our_fault(error)


def _our_fault(error: Exception) -> Answer:
    logger.error("request.failed", extra={"trace": trace(error)})
    return Answer.problem(internal_error())


def _caller(event: Mapping[str, Any]) -> str:
    """The token's subject, which the gateway's authorizer has verified; never anything the client says."""
    node: Any = event
    for name in ("requestContext", "authorizer", "jwt", "claims", "sub"):
        node = node.get(name) if isinstance(node, Mapping) else None
    if isinstance(node, str) and _is_visible(node, MAX_CALLER_CHARACTERS):
        return node
    raise unauthenticated()


def _method(event: Mapping[str, Any]) -> str:
    http = event["requestContext"].get("http") or {}
    return str(http.get("method", "GET"))


def _is_visible(text: str, longest: int) -> bool:
    return 0 < len(text) <= longest and all("!" <= character <= "~" or character == " " for character in text)


def _body(event: Mapping[str, Any]) -> bytes:
    text = event.get("body") or ""
    if not event.get("isBase64Encoded"):
        # a lone surrogate gets through here and is then refused as what it is: not UTF-8
        return str(text).encode("utf-8", "surrogatepass")
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise bad_request("unreadable_body", "body", "it is not valid base64") from None
