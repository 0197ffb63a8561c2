"""What a request must at least say, from botocore's own description of each operation."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from infra.local.aws.descriptions import service_model
from infra.local.aws.errors import AwsError

_CODES = {"sqs": "MissingParameter", "sns": "InvalidParameter", "s3": "InvalidRequest"}


def lacking(service: str, operation: str, params: Mapping[str, Any]) -> AwsError | None:
    """The refusal of a request that lacks a required parameter; SDKs send those only unchecked."""
    for name in _required(service, operation):
        if name not in params:
            code = _CODES.get(service, "ValidationException")
            return AwsError(code, f"The request must contain the parameter {name}.")
    return None


@cache
def _required(service: str, operation: str) -> tuple[str, ...]:
    shape = service_model(service).operation_model(operation).input_shape
    return () if shape is None else tuple(shape.required_members)
