"""What Lambda tells the on-failure destination of a stream mapping about records that it gave up."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

SHARD = "shardId-00000000000000000000-00000000"


@dataclass(frozen=True)
class Discard:
    """Records given up, identified by their place in the stream. Times are epoch seconds."""

    request_id: str
    function_arn: str
    condition: str
    invocations: int
    answered: bool
    at: float
    stream_arn: str
    first: str
    last: str
    first_arrival: float
    last_arrival: float
    records: int

    def to_json(self) -> str:
        """The message body, as documented: metadata only, the records themselves stay in the stream.

        https://docs.aws.amazon.com/lambda/latest/dg/services-dynamodb-errors.html
        """
        return json.dumps(
            {
                "requestContext": {
                    "requestId": self.request_id,
                    "functionArn": self.function_arn,
                    "condition": self.condition,
                    "approximateInvokeCount": self.invocations,
                },
                "responseContext": self._response(),
                "version": "1.0",
                "timestamp": _iso(self.at),
                "DDBStreamBatchInfo": {
                    "shardId": SHARD,
                    "startSequenceNumber": self.first,
                    "endSequenceNumber": self.last,
                    "approximateArrivalOfFirstRecord": _iso(self.first_arrival),
                    "approximateArrivalOfLastRecord": _iso(self.last_arrival),
                    "batchSize": self.records,
                    "streamArn": self.stream_arn,
                },
            }
        )

    def _response(self) -> dict[str, Any]:
        context: dict[str, Any] = {"statusCode": 200, "executedVersion": "$LATEST"}
        return context if self.answered else {**context, "functionError": "Unhandled"}


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
