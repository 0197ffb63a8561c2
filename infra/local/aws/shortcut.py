"""Answer the busiest calls before they become HTTP: for runs where speed counts and the wire does not.

botocore spends more on checking, writing, signing and parsing than the model on the answer. Clients whose
class asks the model at once skip all of it. A call that is about to be throttled goes the whole way, so that
the SDK's own retries stay real.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from infra.local.aws import wire_json
from infra.local.aws.errors import AwsError
from infra.local.aws.s3 import StoredObject

if TYPE_CHECKING:
    from boto3.session import Session

    from infra.local.aws.model import LocalAws

TAKEN: Mapping[str, frozenset[str]] = {
    "dynamodb": frozenset(
        (
            *("GetItem", "BatchGetItem", "Query", "PutItem", "UpdateItem", "DeleteItem"),
            *("TransactWriteItems", "BatchExecuteStatement"),
        )
    ),
    "s3": frozenset(("PutObject",)),
    "sns": frozenset(("PublishBatch",)),
    "sqs": frozenset(("ChangeMessageVisibilityBatch", "GetQueueAttributes")),
}
"""By service, the operations that take it."""


def take(session: "Session", aws: "LocalAws") -> None:
    """Let the session's clients, from now on, take the shortcut."""
    for service in TAKEN:
        session.events.register(f"creating-client-class.{service}", _shortening(aws, service))


def _shortening(aws: "LocalAws", service: str) -> Callable[..., None]:
    # botocore makes the classes that this one is put before while it runs: no type knows what they have.
    class Shortened:
        def _make_api_call(self, operation: str, params: Mapping[str, Any]) -> Any:
            if operation not in TAKEN[service] or aws.switches.is_throttled(service, operation):
                return super()._make_api_call(operation, params)  # type: ignore[misc]
            try:
                return _parsed(aws.request(service, operation, params))
            except AwsError as error:
                parsed = _error(service, error)
                raise self.exceptions.from_code(error.code)(parsed, operation) from None  # type: ignore[attr-defined]

    def shorten(base_classes: list[type], **_: Any) -> None:
        base_classes.insert(0, Shortened)

    return shorten


def _parsed(result: Any) -> dict[str, Any]:
    fields = {"ETag": result.etag} if isinstance(result, StoredObject) else result
    return {**fields, "ResponseMetadata": {"HTTPStatusCode": 200, "RetryAttempts": 0}}


def _error(service: str, error: AwsError) -> dict[str, Any]:
    return {
        **error.fields,
        "Error": {"Code": wire_json.shown_code(service, error), "Message": error.message},
        "ResponseMetadata": {"HTTPStatusCode": error.status, "RetryAttempts": 0},
    }
