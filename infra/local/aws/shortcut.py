"""Answer DynamoDB calls before they become HTTP: for runs where speed counts and the wire does not.

botocore spends more on signing, headers and parsing than the model on the answer. A `before-call` hook that
returns a parsed answer skips all of it. A call that is about to be throttled goes the whole way, so that the
SDK's own retries stay real.
"""

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from infra.local.aws.errors import AwsError

if TYPE_CHECKING:
    from boto3.session import Session
    from botocore.model import OperationModel

    from infra.local.aws.model import LocalAws


@dataclass(frozen=True)
class Status:
    """What botocore looks at in the response when the answer is parsed already."""

    status_code: int
    headers: dict[str, str] = field(default_factory=dict)


def take(session: "Session", aws: "LocalAws") -> None:
    """Let the session's DynamoDB clients take the shortcut."""

    def answer(model: "OperationModel", params: dict[str, Any], **_: Any) -> Any:
        if aws.switches.is_throttled("dynamodb", model.name):
            return None
        try:
            result = aws.request("dynamodb", model.name, json.loads(params["body"]))
        except AwsError as error:
            return Status(error.status), _error(error)
        return Status(200), {**result, "ResponseMetadata": {"HTTPStatusCode": 200, "RetryAttempts": 0}}

    session.events.register("before-call.dynamodb", answer)


def _error(error: AwsError) -> dict[str, Any]:
    return {
        **error.fields,
        "Error": {"Code": error.code, "Message": error.message},
        "ResponseMetadata": {"HTTPStatusCode": error.status, "RetryAttempts": 0},
    }
