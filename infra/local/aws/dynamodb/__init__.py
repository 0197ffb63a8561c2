"""Amazon DynamoDB: tables, indexes, transactions, the PartiQL we use, and streams."""

from infra.local.aws.dynamodb.service import DynamoDb
from infra.local.aws.dynamodb.stream import Stream
from infra.local.aws.dynamodb.streams_service import DynamoDbStreams
from infra.local.aws.dynamodb.table import Table

__all__ = ["DynamoDb", "DynamoDbStreams", "Stream", "Table"]
