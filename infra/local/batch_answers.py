"""What a function's answer to a batch says of its records, as event source mappings read it."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any


class MalformedAnswerError(ValueError):
    """An answer that makes Lambda take the whole batch as failed."""


def failed_items(answer: Any, batch: Collection[str]) -> frozenset[str]:
    """Return the identifiers of `batch` that `answer` reports as failed.

    An empty or null answer or list is success. Raises `MalformedAnswerError` for what Lambda takes as a
    failure of the whole batch: an empty, null or misnamed `itemIdentifier`, or one that the batch lacks
    (https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html, "Success and failure
    conditions").
    """
    if answer is None or answer == {}:
        return frozenset()
    if not isinstance(answer, dict) or "batchItemFailures" not in answer:
        raise MalformedAnswerError(f"no batchItemFailures in {answer!r}")
    failures = answer["batchItemFailures"] or []
    if not isinstance(failures, list):
        raise MalformedAnswerError(f"batchItemFailures is not a list: {failures!r}")
    return frozenset(_identifier(failure, batch) for failure in failures)


def _identifier(failure: Any, batch: Collection[str]) -> str:
    identifier = failure.get("itemIdentifier") if isinstance(failure, dict) else None
    if not isinstance(identifier, str) or identifier not in batch:
        raise MalformedAnswerError(f"not an item of this batch: {failure!r}")
    return identifier
