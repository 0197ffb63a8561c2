"""From a request's bytes to a validated model, or to a problem that names each field."""

from collections.abc import Iterable
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.alias_generators import to_camel

from . import strict_json
from .errors import Unreadable
from .http import Request
from .problems import FieldError, Problem, bad_request

MAX_BODY_BYTES = 64 * 1024
"""Far above the largest acceptable body, far below what a table's item (400 KB) or a topic (256 KB) takes."""
_MAX_ERRORS = 20
_MAX_FIELD_CHARACTERS = 100

M = TypeVar("M", bound=BaseModel)


class Body(BaseModel):
    """Base of request models: exact types, no unknown field, camelCase names, no input echoed in errors."""

    model_config = ConfigDict(
        strict=True,
        extra="forbid",
        frozen=True,
        alias_generator=to_camel,
        populate_by_name=True,
        hide_input_in_errors=True,
    )


def read_body(request: Request, model: type[M]) -> M:
    """The request's JSON body as `model`.

    Raises `Problem`: 415 for another content type, 413 for too large a body, 400 for what is not a JSON
    object, 422 for one that does not fit the model.
    """
    _require_json(request)
    if len(request.body) > MAX_BODY_BYTES:
        raise Problem(413, "body_too_large", f"The body may have at most {MAX_BODY_BYTES} bytes.")
    return _validated(model, _parsed(request.body))


def _require_json(request: Request) -> None:
    media_type, _, parameters = request.header("content-type").partition(";")
    charset = parameters.strip().lower().replace('"', "")
    if media_type.strip().lower() != "application/json" or charset not in ("", "charset=utf-8"):
        errors = [FieldError("Content-Type", "must be application/json in UTF-8")]
        raise Problem(415, "unsupported_media_type", "The body must be JSON.", errors=errors)


def _parsed(body: bytes) -> dict[str, Any]:
    try:
        value = strict_json.loads(body)
    except Unreadable as error:
        raise bad_request("unreadable_body", error.field or "body", error.reason) from None
    if not isinstance(value, dict):
        raise bad_request("unreadable_body", "body", "it is not a JSON object")
    return value


def _validated(model: type[M], value: dict[str, Any]) -> M:
    try:
        return model.model_validate(value, by_alias=True, by_name=False)
    except ValidationError as error:
        found = error.errors(include_input=False, include_url=False, include_context=False)
        raise invalid(FieldError(field_name(each["loc"]), each["msg"]) for each in found) from None


def invalid(errors: Iterable[FieldError]) -> Problem:
    """422: the body can be read, and these of its fields are not acceptable."""
    named = list(errors)[:_MAX_ERRORS]
    detail = f"{named[0].field}: {named[0].reason}" if len(named) == 1 else "Several fields are not valid."
    return Problem(422, "invalid_body", detail, errors=named)


def field_name(path: Iterable[int | str]) -> str:
    """`("lines", 0, "sku")` → `lines[0].sku`."""
    name = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return name.lstrip(".")[:_MAX_FIELD_CHARACTERS]
