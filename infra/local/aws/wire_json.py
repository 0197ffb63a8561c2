"""The AWS JSON 1.0 protocol, of SQS, DynamoDB and its Streams.

https://smithy.io/2.0/aws/protocols/aws-json-1_0-protocol.html
"""

import json
from typing import Any

from infra.local.aws.errors import AwsError
from infra.local.aws.messages import Answer, Request
from infra.local.aws.model import LocalAws

_SERVICES = {
    "AmazonSQS": "sqs",
    "DynamoDB_20120810": "dynamodb",
    "DynamoDBStreams_20120810": "dynamodbstreams",
}
_CONTENT_TYPE = "application/x-amz-json-1.0"
# What SQS's errors were called in its query protocol, which SDKs still show:
# https://smithy.io/2.0/aws/protocols/aws-query-protocol.html#aws-protocols-awsquerycompatible-trait
_OLD_NAMES = {
    "QueueDoesNotExist": "AWS.SimpleQueueService.NonExistentQueue",
    "QueueNameExists": "QueueAlreadyExists",
    "BatchEntryIdsNotDistinct": "AWS.SimpleQueueService.BatchEntryIdsNotDistinct",
    "BatchRequestTooLong": "AWS.SimpleQueueService.BatchRequestTooLong",
    "EmptyBatchRequest": "AWS.SimpleQueueService.EmptyBatchRequest",
    "InvalidBatchEntryId": "AWS.SimpleQueueService.InvalidBatchEntryId",
    "MessageNotInflight": "AWS.SimpleQueueService.MessageNotInflight",
    "TooManyEntriesInBatchRequest": "AWS.SimpleQueueService.TooManyEntriesInBatchRequest",
    "UnsupportedOperation": "AWS.SimpleQueueService.UnsupportedOperation",
}


def answer(aws: LocalAws, request: Request) -> Answer:
    prefix, _, operation = request.headers["x-amz-target"].partition(".")
    service = _SERVICES.get(prefix, prefix)
    try:
        result = aws.request(service, operation, parameters(request.body))
    except AwsError as error:
        return _error(service, error)
    return Answer(200, _headers(), json.dumps(result).encode())


def parameters(body: bytes) -> dict[str, Any]:
    """What a request says in its body. Raises `AwsError` when that is no JSON object.

    https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.Errors.html
    """
    try:
        value = json.loads(body or b"{}")
    except ValueError as error:
        raise AwsError("SerializationException", f"The body is no JSON: {error}") from error
    if not isinstance(value, dict):
        raise AwsError("SerializationException", "The body is no JSON object")
    return value


def shown_code(service: str, error: AwsError) -> str:
    """The error's code as SDKs show it."""
    return _OLD_NAMES.get(error.code, error.code) if service == "sqs" else error.code


def _error(service: str, error: AwsError) -> Answer:
    body = {"__type": f"com.amazonaws.{service}#{error.code}", "message": error.message, **error.fields}
    if error.code == "TransactionCanceledException":
        body["Message"] = error.message
    headers = _headers()
    if service == "sqs":
        fault = "Receiver" if error.status >= 500 else "Sender"
        headers["x-amzn-query-error"] = f"{shown_code(service, error)};{fault}"
    return Answer(error.status, headers, json.dumps(body).encode())


def _headers() -> dict[str, str]:
    return {"content-type": _CONTENT_TYPE, "x-amzn-requestid": "local"}
