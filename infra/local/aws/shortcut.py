"""Answer the busiest calls before they become HTTP: for runs where speed counts and the wire does not.

botocore spends more on signing, headers and parsing than the model on the answer. A `before-call` hook that
returns a parsed answer skips all of it. A call that is about to be throttled goes the whole way, so that the
SDK's own retries stay real.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from infra.local.aws import wire_json
from infra.local.aws.errors import AwsError

if TYPE_CHECKING:
    from boto3.session import Session
    from botocore.model import OperationModel

    from infra.local.aws.model import LocalAws

TAKEN = {"dynamodb": "before-call.dynamodb", "sqs": "before-call.sqs.ChangeMessageVisibilityBatch"}
"""By service, the calls that take it: only such whose JSON is already what botocore would make of it."""


@dataclass(frozen=True)
class Status:
    """What botocore looks at in the response when the answer is parsed already."""

    status_code: int
    headers: dict[str, str] = field(default_factory=dict)


def take(session: "Session", aws: "LocalAws") -> None:
    """Let the session's clients take the shortcut."""
    for service, calls in TAKEN.items():
        session.events.register(calls, _answering(aws, service))


def _answering(aws: "LocalAws", service: str) -> Callable[..., Any]:
    def answer(model: "OperationModel", params: dict[str, Any], **_: Any) -> Any:
        if aws.switches.is_throttled(service, model.name):
            return None
        try:
            result = aws.request(service, model.name, json.loads(params["body"]))
        except AwsError as error:
            return Status(error.status), _error(service, error)
        return Status(200), {**result, "ResponseMetadata": {"HTTPStatusCode": 200, "RetryAttempts": 0}}

    return answer


def _error(service: str, error: AwsError) -> dict[str, Any]:
    return {
        **error.fields,
        "Error": {"Code": wire_json.shown_code(service, error), "Message": error.message},
        "ResponseMetadata": {"HTTPStatusCode": error.status, "RetryAttempts": 0},
    }
