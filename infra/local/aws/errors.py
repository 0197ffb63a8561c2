"""An error as an AWS service answers it."""

from collections.abc import Mapping
from typing import Any

BAD_REQUEST = 400


class AwsError(Exception):
    """A modelled error: `code` as the SDK shows it, `fields` as further members of its shape."""

    def __init__(
        self, code: str, message: str, status: int = BAD_REQUEST, fields: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.status = status
        self.fields = dict(fields or {})
