"""The operations of Amazon DynamoDB Streams.

https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_Operations_Amazon_DynamoDB_Streams.html
"""

from collections.abc import Mapping
from typing import Any

from infra.local.aws.dynamodb.service import DynamoDb
from infra.local.aws.dynamodb.stream import Stream
from infra.local.aws.dynamodb.values import invalid
from infra.local.aws.errors import AwsError
from infra.local.aws.region import Region

Params = Mapping[str, Any]
Answer = dict[str, Any]

MAX_RECORDS = 1000
ITERATOR_SECONDS = 15 * 60
SHARD = "shardId-00000000000000000000-00000000"


class DynamoDbStreams:
    """Reading streams shard by shard; iterators last 15 minutes."""

    def __init__(self, region: Region, dynamodb: DynamoDb) -> None:
        self._region = region
        self._dynamodb = dynamodb

    def describe_stream(self, params: Params) -> Answer:
        stream = self._dynamodb.stream(params["StreamArn"])
        shard = {
            "ShardId": SHARD,
            "SequenceNumberRange": {"StartingSequenceNumber": stream.sequence_number(0)},
        }
        return {
            "StreamDescription": {
                "StreamArn": stream.arn,
                "StreamLabel": stream.label,
                "StreamStatus": "ENABLED",
                "StreamViewType": stream.view,
                "TableName": stream.table,
                "KeySchema": stream.schema.shown(),
                "Shards": [] if params.get("ExclusiveStartShardId") == SHARD else [shard],
            }
        }

    def get_shard_iterator(self, params: Params) -> Answer:
        stream = self._dynamodb.stream(params["StreamArn"])
        if params["ShardId"] != SHARD:
            raise AwsError("ResourceNotFoundException", "Requested resource not found: Shard does not exist")
        return {"ShardIterator": self._iterator(stream, _start(stream, params))}

    def get_records(self, params: Params) -> Answer:
        arn, position, expires = params["ShardIterator"].split("|")
        if self._region.now_ms() >= int(expires):
            raise AwsError("ExpiredIteratorException", "Iterator expired")
        stream = self._dynamodb.stream(arn)
        first = max(int(position), stream.start)
        records = stream.read(first, params.get("Limit") or MAX_RECORDS)
        return {"Records": records, "NextShardIterator": self._iterator(stream, first + len(records))}

    def _iterator(self, stream: Stream, position: int) -> str:
        return f"{stream.arn}|{position}|{self._region.now_ms() + ITERATOR_SECONDS * 1000}"


def _start(stream: Stream, params: Params) -> int:
    """https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_streams_GetShardIterator.html"""
    kind = params["ShardIteratorType"]
    if kind == "TRIM_HORIZON":
        return stream.start
    if kind == "LATEST":
        return stream.end
    if kind not in ("AT_SEQUENCE_NUMBER", "AFTER_SEQUENCE_NUMBER"):
        raise invalid(f"Invalid ShardIteratorType: {kind}")
    position = stream.position(params["SequenceNumber"])
    if position < stream.start:
        raise AwsError(
            "TrimmedDataAccessException", "The operation attempted to read past the oldest stream record"
        )
    return position + 1 if kind == "AFTER_SEQUENCE_NUMBER" else position
