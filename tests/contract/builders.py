"""Queues, topics, tables and items that the conformance tests need again and again."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest
from botocore.exceptions import ClientError


@contextmanager
def refused(*codes: str) -> Iterator[pytest.ExceptionInfo[ClientError]]:
    """The call inside is refused with one of these error codes."""
    with pytest.raises(ClientError) as info:
        yield info
    assert info.value.response["Error"]["Code"] in codes


def create_queue(sqs: Any, name: str, **attributes: str) -> str:
    url: str = sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]
    return url


def queue_arn(sqs: Any, url: str) -> str:
    answer = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])
    arn: str = answer["Attributes"]["QueueArn"]
    return arn


def send_policy(topic_arn: str, arn: str, effect: str = "Allow") -> str:
    """A queue policy that lets one topic send, or keeps it from sending."""
    statement = {
        "Effect": effect,
        "Principal": {"Service": "sns.amazonaws.com"},
        "Action": "sqs:SendMessage",
        "Resource": arn,
        "Condition": {"ArnEquals": {"aws:SourceArn": topic_arn}},
    }
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


def allow(sqs: Any, topic_arn: str, url: str) -> None:
    policy = send_policy(topic_arn, queue_arn(sqs, url))
    sqs.set_queue_attributes(QueueUrl=url, Attributes={"Policy": policy})


def create_table(
    dynamodb: Any, name: str = "Shop", view: str = "NEW_AND_OLD_IMAGES", projection: str = "KEYS_ONLY"
) -> dict[str, Any]:
    """The description of a new table with keys pk and sk, and an index on unpublished and bornAt."""
    answer = dynamodb.create_table(
        TableName=name,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[
            {"AttributeName": attribute, "AttributeType": kind}
            for attribute, kind in (("pk", "S"), ("sk", "S"), ("unpublished", "S"), ("bornAt", "N"))
        ],
        KeySchema=key_schema("pk", "sk"),
        GlobalSecondaryIndexes=[
            {
                "IndexName": "unpublished",
                "KeySchema": key_schema("unpublished", "bornAt"),
                "Projection": {"ProjectionType": projection},
            }
        ],
        StreamSpecification={"StreamEnabled": True, "StreamViewType": view},
    )
    description: dict[str, Any] = answer["TableDescription"]
    return description


def key_schema(partition: str, sort: str) -> list[dict[str, str]]:
    return [
        {"AttributeName": partition, "KeyType": "HASH"},
        {"AttributeName": sort, "KeyType": "RANGE"},
    ]


def text(value: str) -> dict[str, str]:
    return {"S": value}


def number(value: object) -> dict[str, str]:
    return {"N": str(value)}


def key(pk: str, sk: str = "entity") -> dict[str, Any]:
    return {"pk": text(pk), "sk": text(sk)}


def item(pk: str, sk: str = "entity", **attributes: Mapping[str, Any]) -> dict[str, Any]:
    return {**key(pk, sk), **attributes}


def stored(dynamodb: Any, pk: str, sk: str = "entity") -> dict[str, Any] | None:
    """The item now, or None."""
    answer = dynamodb.get_item(TableName="Shop", Key=key(pk, sk), ConsistentRead=True)
    found: dict[str, Any] | None = answer.get("Item")
    return found
