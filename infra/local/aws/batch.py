"""Batches as SQS and SNS have them: up to ten entries, which succeed or fail one by one inside a 200.

https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-batch-api-actions.html and
https://docs.aws.amazon.com/sns/latest/api/API_PublishBatch.html
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from infra.local.aws.errors import AwsError
from infra.local.aws.switches import is_left_undone

Entry = Mapping[str, Any]
Answer = dict[str, Any]

MAX_ENTRIES = 10
_ID = re.compile(r"[A-Za-z0-9_-]{1,80}")
_SERVER_ERROR = 500


def check(entries: Sequence[Entry]) -> None:
    """Refuse a batch that is wrong as a whole."""
    if not entries:
        raise AwsError("EmptyBatchRequest", "The batch request doesn't contain any entries.")
    if len(entries) > MAX_ENTRIES:
        raise AwsError(
            "TooManyEntriesInBatchRequest", f"Maximum number of entries per request is {MAX_ENTRIES}."
        )
    ids = [entry["Id"] for entry in entries]
    if len(set(ids)) != len(ids):
        raise AwsError(
            "BatchEntryIdsNotDistinct", "Two or more batch entries in the request have the same Id."
        )
    if not all(_ID.fullmatch(entry_id) for entry_id in ids):
        raise AwsError(
            "InvalidBatchEntryId", "An Id has 1 to 80 alphanumeric characters, hyphens or underscores."
        )


def run(entries: Sequence[Entry], act: Callable[[Entry], Answer], is_partial: bool) -> Answer:
    """Act on each entry; a partial batch leaves every second one undone, as a fault of the service."""
    answer: Answer = {"Successful": [], "Failed": []}
    for position, entry in enumerate(entries):
        is_undone = is_partial and is_left_undone(position, len(entries))
        try:
            done = (_fail if is_undone else act)(entry)
        except AwsError as error:
            answer["Failed"].append(_failure(entry["Id"], error))
        else:
            answer["Successful"].append({"Id": entry["Id"], **done})
    return answer


def _fail(_: Entry) -> Answer:
    raise AwsError("InternalError", "We encountered an internal error. Please try again.", _SERVER_ERROR)


def _failure(entry_id: str, error: AwsError) -> Answer:
    is_callers_fault = error.status < _SERVER_ERROR
    return {"Id": entry_id, "Code": error.code, "Message": error.message, "SenderFault": is_callers_fault}
