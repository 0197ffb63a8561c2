"""All writes or none.

https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

from infra.local.aws.dynamodb import writes
from infra.local.aws.dynamodb.capacity import TRANSACTIONAL, Capacity
from infra.local.aws.dynamodb.table import Table
from infra.local.aws.dynamodb.values import Item, invalid, item_size
from infra.local.aws.dynamodb.writes import ConditionFailedError, Outcome, Write
from infra.local.aws.errors import AwsError
from infra.local.aws.region import Region

Params = Mapping[str, Any]
Reason = dict[str, Any]

MAX_ITEMS = 100
MAX_BYTES = 4 * 1024 * 1024
TOKEN_SECONDS = 600

_KINDS: Mapping[str, Callable[[Table, Params], Write]] = {
    "Put": writes.put,
    "Update": writes.update,
    "Delete": writes.delete,
    "ConditionCheck": writes.check,
}
_NO_REASON: Reason = {"Code": "None"}


class Transactions:
    """Write transactions and the client tokens that make them idempotent."""

    def __init__(self, region: Region, find: Callable[[str], Table]) -> None:
        self._region = region
        self._find = find
        self._tokens: dict[str, tuple[float, str]] = {}

    def write(self, params: Params, capacity: Capacity) -> None:
        """Commit, or raise TransactionCanceledException with a reason for each item."""
        parts = [self._part(item) for item in params["TransactItems"]]
        _check(parts)
        if self._is_repeat(params):
            for part in parts:
                capacity.read(part.table, _existing(part), consistent=True)
            return
        outcomes = self._outcomes(parts, capacity)
        for outcome in outcomes:
            capacity.wrote(outcome.write.table, outcome.old, outcome.new, TRANSACTIONAL)
            outcome.commit()
        self._remember(params)

    def _part(self, item: Mapping[str, Params]) -> Write:
        if len(item) != 1:
            raise invalid("TransactItems can only contain one of Check, Put, Update or Delete")
        ((kind, params),) = item.items()
        return _KINDS[kind](self._find(params["TableName"]), params)

    def _outcomes(self, parts: list[Write], capacity: Capacity) -> list[Outcome]:
        outcomes: list[Outcome] = []
        reasons: list[Reason] = []
        for part in parts:
            try:
                outcomes.append(part.outcome())
                reasons.append(_NO_REASON)
            except ConditionFailedError as failure:
                reasons.append(_failed(part, failure.existing))
            except AwsError as error:
                reasons.append({"Code": "ValidationError", "Message": error.message})
        if self._region.switches.is_partial("dynamodb", "TransactWriteItems"):
            reasons[0] = {"Code": "TransactionConflict", "Message": "Transaction is ongoing for the item"}
        if any(reason is not _NO_REASON for reason in reasons):
            # A cancelled transaction has been prepared, so it is billed, item by item, as if each had failed.
            for part in parts:
                capacity.refused(part.table, part.table.get(part.key), TRANSACTIONAL)
            raise _cancelled(reasons)
        _check_bytes(outcomes)
        return outcomes

    def _is_repeat(self, params: Params) -> bool:
        """Whether the token's request has succeeded in the last 10 minutes."""
        now = self._region.clock.now()
        known = self._tokens.get(params.get("ClientRequestToken", ""))
        if known is None or known[0] <= now:
            return False
        if known[1] != _fingerprint(params):
            raise AwsError(
                "IdempotentParameterMismatchException",
                "Request rejected because it was retried with a payload that does not match the original.",
            )
        return True

    def _remember(self, params: Params) -> None:
        token, now = params.get("ClientRequestToken"), self._region.clock.now()
        if token:
            self._tokens[token] = (now + TOKEN_SECONDS, _fingerprint(params))
        # Oldest first, so the expired ones are at the front.
        while (oldest := next(iter(self._tokens), None)) and self._tokens[oldest][0] <= now:
            del self._tokens[oldest]


def _existing(part: Write) -> list[Item]:
    item = part.table.get(part.key)
    return [] if item is None else [item]


def _check(parts: list[Write]) -> None:
    if not 1 <= len(parts) <= MAX_ITEMS:
        raise invalid(
            "1 validation error detected: Value at 'transactItems' failed to satisfy constraint: Member must "
            f"have length less than or equal to {MAX_ITEMS}, and greater than or equal to 1"
        )
    if len({part.target for part in parts}) != len(parts):
        raise invalid("Transaction request cannot include multiple operations on one item")


def _check_bytes(outcomes: list[Outcome]) -> None:
    if sum(item_size(outcome.new or {}) for outcome in outcomes) > MAX_BYTES:
        raise invalid("Transaction request exceeds the maximum aggregate item size of 4 MB")


def _failed(part: Write, existing: Item | None) -> Reason:
    reason: Reason = {"Code": "ConditionalCheckFailed", "Message": "The conditional request failed"}
    return {**reason, "Item": existing} if part.shows_old and existing is not None else reason


def _cancelled(reasons: list[Reason]) -> AwsError:
    codes = ", ".join(reason["Code"] for reason in reasons)
    return AwsError(
        "TransactionCanceledException",
        f"Transaction cancelled, please refer cancellation reasons for specific reasons [{codes}]",
        fields={"CancellationReasons": reasons},
    )


def _fingerprint(params: Params) -> str:
    return json.dumps(params["TransactItems"], sort_keys=True)
