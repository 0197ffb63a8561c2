"""A stream: every change, once, in order.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Streams.html
"""

from typing import Any

import pytest

from tests.contract.builders import create_table, item, key, number, refused, text

STREAMS_DOC = "https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Streams.html"


class Reader:
    """Reads a table's stream from its start on."""

    def __init__(self, streams: Any, arn: str) -> None:
        self.streams = streams
        self.arn = arn
        self.description = streams.describe_stream(StreamArn=arn)["StreamDescription"]
        self.iterator = self.iterator_at("TRIM_HORIZON")

    def iterator_at(self, kind: str, **more: str) -> str:
        shard = self.description["Shards"][0]["ShardId"]
        answer = self.streams.get_shard_iterator(
            StreamArn=self.arn, ShardId=shard, ShardIteratorType=kind, **more
        )
        iterator: str = answer["ShardIterator"]
        return iterator

    def read(self, **more: Any) -> list[dict[str, Any]]:
        answer = self.streams.get_records(ShardIterator=self.iterator, **more)
        self.iterator = answer["NextShardIterator"]
        records: list[dict[str, Any]] = answer["Records"]
        return records

    def names(self) -> list[str]:
        return [record["eventName"] for record in self.read()]


@pytest.fixture
def reader(dynamodb: Any, streams: Any) -> Reader:
    return Reader(streams, create_table(dynamodb)["LatestStreamArn"])


def test_a_stream_describes_itself(reader: Reader) -> None:
    assert reader.description["StreamStatus"] == "ENABLED"
    assert reader.description["TableName"] == "Shop"
    assert reader.description["StreamViewType"] == "NEW_AND_OLD_IMAGES"


def test_a_record_for_each_change_with_its_images(dynamodb: Any, reader: Reader) -> None:
    one, two = item("a", n=number(1)), item("a", n=number(2))
    dynamodb.put_item(TableName="Shop", Item=one)
    dynamodb.put_item(TableName="Shop", Item=two)
    dynamodb.delete_item(TableName="Shop", Key=key("a"))

    records = reader.read()

    assert [record["eventName"] for record in records] == ["INSERT", "MODIFY", "REMOVE"]
    images = [record["dynamodb"] for record in records]
    assert [image["Keys"] for image in images] == [key("a")] * 3
    assert [image.get("OldImage") for image in images] == [None, one, two]
    assert [image.get("NewImage") for image in images] == [one, two, None]
    assert all("userIdentity" not in record for record in records)


def test_sequence_numbers_grow(dynamodb: Any, reader: Reader) -> None:
    for one in range(3):
        dynamodb.put_item(TableName="Shop", Item=item(str(one)))

    numbers = [int(record["dynamodb"]["SequenceNumber"]) for record in reader.read()]

    assert numbers == sorted(set(numbers))


@pytest.mark.parametrize(
    ("view", "expected"),
    [
        ("NEW_IMAGE", {"NewImage"}),
        ("OLD_IMAGE", {"OldImage"}),
        ("NEW_AND_OLD_IMAGES", {"NewImage", "OldImage"}),
        ("KEYS_ONLY", set()),
    ],
)
def test_a_view_shows_what_it_says(dynamodb: Any, streams: Any, view: str, expected: set[str]) -> None:
    reader = Reader(streams, create_table(dynamodb, view=view)["LatestStreamArn"])
    for one in range(2):
        dynamodb.put_item(TableName="Shop", Item=item("a", n=number(one)))

    (_, record) = reader.read()

    assert {"NewImage", "OldImage"} & set(record["dynamodb"]) == expected


@pytest.mark.moto_differs(reason="records writes that change nothing", doc=STREAMS_DOC)
def test_a_write_that_changes_nothing_leaves_no_record(dynamodb: Any, reader: Reader) -> None:
    for _ in range(2):
        dynamodb.put_item(TableName="Shop", Item=item("a", n=number(1)))
    dynamodb.delete_item(TableName="Shop", Key=key("phantom"))

    assert reader.names() == ["INSERT"]


def test_a_refused_write_leaves_no_record(dynamodb: Any, reader: Reader) -> None:
    dynamodb.put_item(TableName="Shop", Item=item("a"))
    with refused("ConditionalCheckFailedException"):
        dynamodb.put_item(
            TableName="Shop", Item=item("a", n=number(1)), ConditionExpression="attribute_not_exists(pk)"
        )

    assert reader.names() == ["INSERT"]


@pytest.mark.moto_differs(reason="leaves ghosts of cancelled transactions", doc=STREAMS_DOC)
def test_a_cancelled_transaction_leaves_no_record(dynamodb: Any, reader: Reader) -> None:
    check = {"TableName": "Shop", "Key": key("b"), "ConditionExpression": "attribute_exists(pk)"}
    with refused("TransactionCanceledException"):
        dynamodb.transact_write_items(
            TransactItems=[{"Put": {"TableName": "Shop", "Item": item("a")}}, {"ConditionCheck": check}]
        )

    assert reader.names() == []


def test_a_transaction_leaves_a_record_for_each_item(dynamodb: Any, reader: Reader) -> None:
    puts = [{"Put": {"TableName": "Shop", "Item": item(pk)}} for pk in "ab"]

    dynamodb.transact_write_items(TransactItems=puts)

    assert reader.names() == ["INSERT", "INSERT"]


def test_statements_leave_records(dynamodb: Any, reader: Reader) -> None:
    dynamodb.put_item(TableName="Shop", Item=item("a", unpublished=text("0"), bornAt=number(1)))
    statement = 'UPDATE "Shop" REMOVE unpublished WHERE pk=? AND sk=?'
    dynamodb.batch_execute_statement(
        Statements=[{"Statement": statement, "Parameters": [text("a"), text("entity")]}]
    )

    assert reader.names() == ["INSERT", "MODIFY"]


def test_a_reader_goes_on_where_it_stopped(dynamodb: Any, reader: Reader) -> None:
    for pk in "abc":
        dynamodb.put_item(TableName="Shop", Item=item(pk))

    pages = [[record["dynamodb"]["Keys"]["pk"]["S"] for record in reader.read(Limit=2)] for _ in range(3)]

    assert pages == [["a", "b"], ["c"], []]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("TRIM_HORIZON", "abc"), ("LATEST", ""), ("AT_SEQUENCE_NUMBER", "bc"), ("AFTER_SEQUENCE_NUMBER", "c")],
)
def test_a_reader_may_start_anywhere(dynamodb: Any, reader: Reader, kind: str, expected: str) -> None:
    for pk in "abc":
        dynamodb.put_item(TableName="Shop", Item=item(pk))
    second = reader.read()[1]["dynamodb"]["SequenceNumber"]

    at = {"SequenceNumber": second} if kind.endswith("NUMBER") else {}
    reader.iterator = reader.iterator_at(kind, **at)

    assert "".join(record["dynamodb"]["Keys"]["pk"]["S"] for record in reader.read()) == expected


def test_latest_sees_what_comes_after(dynamodb: Any, reader: Reader) -> None:
    dynamodb.put_item(TableName="Shop", Item=item("a"))
    reader.iterator = reader.iterator_at("LATEST")

    dynamodb.put_item(TableName="Shop", Item=item("b"))

    assert [record["dynamodb"]["Keys"] for record in reader.read()] == [key("b")]
