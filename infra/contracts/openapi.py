"""The API as an OpenAPI 3.1 document: every route of the template, as the code behind it tells of it.

Source: spec.openapis.org/oas/v3.1.1
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from handlers.postroom.bodies import MAX_BODY_BYTES
from handlers.postroom.idempotency import HEADER, MAX_KEY_CHARACTERS, REPLAYED
from handlers.postroom.operations import Operation, Parameter, Reply
from handlers.postroom.problems import PHRASES, ProblemDocument
from infra.contracts.schemas import Mode, Schemas

VERSION = "3.1.1"
LOCAL_RUN = "http://127.0.0.1:8700"
SCHEME = "token"

_TEXT = {"type": "string"}
_HEADERS: Mapping[str, Mapping[str, Any]] = {
    "Location": {"description": "Where to look for what becomes of it.", "required": True, "schema": _TEXT},
    "Retry-After": {
        "description": "Seconds to wait before asking again.",
        "schema": {"type": "integer", "minimum": 1},
    },
    REPLAYED: {
        "description": "Only on a repeat: it was accepted before, and this is the answer that it had then.",
        "schema": {"type": "string", "const": "true"},
    },
    "ETag": {"description": "What the answer is known by.", "required": True, "schema": _TEXT},
    "Cache-Control": {"required": True, "schema": _TEXT},
    "WWW-Authenticate": {"required": True, "schema": _TEXT},
}
_REQUEST_HEADERS: Mapping[str, Mapping[str, Any]] = {
    HEADER: {
        "name": HEADER,
        "in": "header",
        "required": True,
        "description": "What a repeat of the same request is known by: one key, one piece of work.",
        "schema": {"type": "string", "pattern": f"^[!-~]{{1,{MAX_KEY_CHARACTERS}}}$"},
    },
    "If-None-Match": {
        "name": "If-None-Match",
        "in": "header",
        "description": "The `ETag` of an earlier answer.",
        "schema": {"type": "string", "pattern": "^[ -~]*$", "maxLength": 1000},
    },
}
_GATEWAY_MESSAGE = {
    "description": "What API Gateway answers by itself.",
    "type": "object",
    "properties": {"message": {"type": "string"}},
    "required": ["message"],
}
_GATEWAYS = frozenset({401, 413, 429, 500, 503})
"""docs.aws.amazon.com/apigateway/latest/developerguide/http-api-troubleshooting-lambda.html,
http-api-jwt-authorizer.html, http-api-throttling.html, http-api-quotas.html"""
_ONLY_GATEWAYS = frozenset({429})
_FOR_ALL = {
    401: "There is no valid bearer token, or it names no usable subject.",
    429: "Too many requests at once: the gateway throttles.",
    500: "Our fault. Sending the same request again is safe.",
    503: "Something is busy or out of reach. Send the same request again later.",
}
_KEYED = {400: f"`{HEADER}` is missing or not usable."}
_KEYED_WITH_BODY = {422: f"`{HEADER}` was used before, for another payload."}
_WITH_BODY = {
    400: "The body is not a JSON object.",
    413: f"The body has more than {MAX_BODY_BYTES} bytes.",
    415: "The body is not JSON in UTF-8.",
    422: "A field is missing, unknown, of another type or out of range.",
}
_SAME = {
    status: says
    for kind in (_FOR_ALL, _WITH_BODY)
    for status, says in kind.items()
    if status not in (400, 422)
}
"""Refusals that every route words alike."""
_WITH_QUERY = {400: "A parameter of the query is missing or not usable."}


def document(operations: Sequence[Operation], version: str) -> dict[str, Any]:
    """The whole document; `version` is the product's."""
    schemas = Schemas([*_types(operations), (ProblemDocument, "serialization")])
    paths: dict[str, dict[str, Any]] = {}
    for each in sorted(operations, key=lambda operation: operation.route.partition(" ")[::-1]):
        method, _, path = each.route.partition(" ")
        paths.setdefault(path, {})[method.lower()] = _operation(each, schemas)
    return {
        "openapi": VERSION,
        "info": _info(version),
        "servers": [{"url": LOCAL_RUN, "description": "The local run; a stack's URL is its output ApiUrl."}],
        "security": [{SCHEME: []}],
        "paths": paths,
        "components": {
            "schemas": {**schemas.components, "GatewayMessage": _GATEWAY_MESSAGE},
            "responses": {_shared(status): _refusal(status, says, schemas) for status, says in _SAME.items()},
            "headers": dict(_HEADERS),
            "parameters": dict(_REQUEST_HEADERS),
            "securitySchemes": {SCHEME: {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}},
        },
    }


def statuses(operation: Operation) -> dict[int, str]:
    """Every refusal of a route and what it says, those included that its kind implies."""
    kinds = [
        _FOR_ALL,
        _KEYED if operation.keyed else {},
        _KEYED_WITH_BODY if operation.keyed and operation.body else {},
        _WITH_BODY if operation.body else {},
        _WITH_QUERY if operation.query else {},
        operation.refusals,
    ]
    found: dict[int, list[str]] = {}
    for kind in kinds:
        for status, says in kind.items():
            found.setdefault(status, []).append(says)
    return {status: " ".join(found[status]) for status in sorted(found)}


def operation_id(route: str) -> str:
    """`POST /wallet/credits` → `post-wallet-credits`."""
    method, _, path = route.partition(" ")
    names = [part.strip("{}") for part in path.split("/") if part]
    return "-".join([method.lower(), *names])


def _info(version: str) -> dict[str, Any]:
    return {
        "title": "Postroom",
        "version": version,
        "description": "Work is answered with 202 and where to look, and is done behind the answer.",
    }


def _types(operations: Sequence[Operation]) -> Iterator[tuple[Any, Mode]]:
    for each in operations:
        if each.body:
            yield each.body, "validation"
        for reply in each.replies.values():
            if reply.document is not None:
                yield reply.document, "serialization"


def _operation(operation: Operation, schemas: Schemas) -> dict[str, Any]:
    parameters = list(_parameters(operation))
    answers = {str(status): _reply(reply, schemas) for status, reply in operation.replies.items()}
    refused = {str(status): _refused(status, says, schemas) for status, says in statuses(operation).items()}
    return {
        "operationId": operation_id(operation.route),
        "summary": operation.summary,
        **({"parameters": parameters} if parameters else {}),
        **({"requestBody": _body(operation, schemas)} if operation.body else {}),
        "responses": {**answers, **refused},
    }


def _parameters(operation: Operation) -> Iterator[Mapping[str, Any]]:
    for part in operation.route.split("/"):
        if part.startswith("{"):
            yield {
                "name": part.strip("{}"),
                "in": "path",
                "required": True,
                "schema": {"type": "string", "minLength": 1},
            }
    yield from (_in_query(each) for each in operation.query)
    for name in [*([HEADER] if operation.keyed else []), *operation.headers]:
        yield {"$ref": f"#/components/parameters/{name}"}


def _in_query(parameter: Parameter) -> Mapping[str, Any]:
    return {
        "name": parameter.name,
        "in": "query",
        **({"required": True} if parameter.required else {}),
        "description": parameter.says,
        "schema": dict(parameter.schema),
    }


def _body(operation: Operation, schemas: Schemas) -> dict[str, Any]:
    content = {"application/json": {"schema": schemas.of(operation.body, "validation")}}
    return {**({"required": True} if operation.body_required else {}), "content": content}


def _reply(reply: Reply, schemas: Schemas) -> dict[str, Any]:
    told: dict[str, Any] = {"description": reply.says}
    if reply.headers:
        told["headers"] = {name: _header(name) for name in reply.headers}
    if reply.document is not None:
        schema = schemas.of(reply.document, "serialization")
        told["content"] = {"application/json": {"schema": schema}}
    if reply.links:
        told["links"] = {operation_id(route): _link(route, at) for route, at in reply.links.items()}
    return told


def _link(route: str, at: str) -> dict[str, Any]:
    return {"operationId": operation_id(route), "parameters": {"id": f"$response.body#{at}"}}


def _refused(status: int, says: str, schemas: Schemas) -> dict[str, Any]:
    if says == _SAME.get(status):
        return {"$ref": f"#/components/responses/{_shared(status)}"}
    return _refusal(status, says, schemas)


def _shared(status: int) -> str:
    return PHRASES[status].replace(" ", "")


def _refusal(status: int, says: str, schemas: Schemas) -> dict[str, Any]:
    content: dict[str, Any] = {}
    if status not in _ONLY_GATEWAYS:
        content["application/problem+json"] = {"schema": schemas.of(ProblemDocument, "serialization")}
    if status in _GATEWAYS:
        content["application/json"] = {"schema": {"$ref": "#/components/schemas/GatewayMessage"}}
    headers = {401: ["WWW-Authenticate"], 409: ["Retry-After"], 503: ["Retry-After"]}.get(status, [])
    return {
        "description": says,
        **({"headers": {name: _header(name) for name in headers}} if headers else {}),
        "content": content,
    }


def _header(name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/headers/{name}"}
