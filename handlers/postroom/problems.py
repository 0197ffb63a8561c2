"""What a request is refused with: a problem document that names each field and why.

Source: RFC 9457 (Problem Details for HTTP APIs); `code` and `errors` are extension members of ours.

400 is for what cannot be read as a request: headers, encoding, JSON. 422 is for what can be read and is not
acceptable: a field that is missing, unknown, of another type or out of range, or a key used for two payloads.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, NamedTuple, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from .errors import PostroomError

PHRASES: Mapping[int, str] = {
    400: "Bad Request",
    401: "Unauthorized",
    402: "Payment Required",
    404: "Not Found",
    409: "Conflict",
    413: "Content Too Large",
    415: "Unsupported Media Type",
    422: "Unprocessable Content",
    429: "Too Many Requests",
    500: "Internal Server Error",
    503: "Service Unavailable",
}
"""RFC 9110 §15. A problem of type `about:blank` has its status's phrase for a title (RFC 9457 §4.2.1)."""


class FieldError(NamedTuple):
    """Which field (`lines[0].quantity`, or a header's name) and what is wrong with it."""

    field: str
    reason: str


class FieldDocument(TypedDict):
    field: str
    reason: str


class ProblemDocument(TypedDict):
    """RFC 9457: `code` is for programs, `detail` for people, `errors` names each field at fault."""

    type: str
    title: str
    status: Annotated[int, Field(ge=400, le=599)]
    code: str
    detail: str
    errors: NotRequired[list[FieldDocument]]


class Problem(PostroomError):
    """A refusal that the caller is told about. `code` is for programs, `detail` for people."""

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        *,
        errors: Sequence[FieldError] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.detail = detail
        self.errors = tuple(errors)
        self.headers = dict(headers or {})

    @property
    def document(self) -> ProblemDocument:
        document: ProblemDocument = {
            "type": "about:blank",
            "title": PHRASES[self.status],
            "status": self.status,
            "code": self.code,
            "detail": self.detail,
        }
        if self.errors:
            document["errors"] = [{"field": each.field, "reason": each.reason} for each in self.errors]
        return document


def bad_request(code: str, field: str, reason: str) -> Problem:
    return Problem(400, code, f"{field}: {reason}", errors=[FieldError(field, reason)])


def unauthenticated() -> Problem:
    """401 with the challenge that it needs (RFC 9110 §15.5.2)."""
    detail = "A bearer token with a usable subject is needed."
    return Problem(401, "unauthenticated", detail, headers={"WWW-Authenticate": "Bearer"})


NOT_YOURS = "There is nothing of yours by this name."


def not_found() -> Problem:
    """One answer for what is not there and what is not yours, so that neither can be told from the other."""
    return Problem(404, "not_found", NOT_YOURS)


def unavailable(retry_after_seconds: int) -> Problem:
    detail = "Something that this needs is busy or out of reach. Send the same request again later."
    return Problem(503, "unavailable", detail, headers={"Retry-After": str(retry_after_seconds)})


def internal_error() -> Problem:
    return Problem(500, "internal_error", "This is our fault. Sending the same request again is safe.")
