"""The REST JSON protocol, of EventBridge Scheduler, driven by botocore's own description of the service.

https://smithy.io/2.0/aws/protocols/aws-restjson1-protocol.html
"""

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any
from urllib.parse import parse_qs, unquote

from botocore.model import OperationModel

from infra.local.aws.descriptions import service_model
from infra.local.aws.errors import AwsError
from infra.local.aws.messages import Answer, Request
from infra.local.aws.model import LocalAws
from infra.local.aws.wire_json import parameters

SERVICE = "scheduler"


def answer(aws: LocalAws, request: Request) -> Answer:
    try:
        operation, params = _read(request)
        result = aws.request(SERVICE, operation, params)
    except AwsError as error:
        body = json.dumps({"Message": error.message, **error.fields}).encode()
        return Answer(error.status, {**_headers(), "x-amzn-errortype": error.code}, body)
    return Answer(200, _headers(), json.dumps(result).encode())


def _headers() -> dict[str, str]:
    return {"content-type": "application/json", "x-amzn-requestid": "local"}


@cache
def _routes() -> tuple[tuple[str, re.Pattern[str], OperationModel], ...]:
    """Method and path of every operation, with a group for each name in the path."""
    return tuple(
        (model.http["method"], _pattern(model.http["requestUri"]), model)
        for model in map(service_model(SERVICE).operation_model, service_model(SERVICE).operation_names)
    )


def _pattern(uri: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", uri))


def _read(request: Request) -> tuple[str, dict[str, Any]]:
    for method, pattern, model in _routes():
        found = pattern.fullmatch(request.parts.path)
        if found and method == request.method:
            return model.name, dict(_params(model, found.groupdict(), request))
    raise AwsError("UnknownOperationException", f"{request.method} {request.parts.path} is no operation", 404)


def _params(model: OperationModel, in_path: Mapping[str, str], request: Request) -> Iterator[tuple[str, Any]]:
    """Each member from where its description says that it is: path, query or body."""
    query, body = parse_qs(request.parts.query), parameters(request.body)
    shapes = {} if model.input_shape is None else model.input_shape.members
    for name, shape in shapes.items():
        location = shape.serialization.get("location")
        wire_name = shape.serialization.get("name", name)
        if location == "uri":
            yield name, unquote(in_path[wire_name])
        elif location == "querystring" and wire_name in query:
            text = query[wire_name][0]
            yield name, int(text) if shape.type_name == "integer" else text
        elif location is None and wire_name in body:
            yield name, body[wire_name]
