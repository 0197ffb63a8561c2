"""The shortcut past the wire answers as the wire does."""

from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError

from infra.local.aws import LocalAws, shortcut
from infra.local.aws.clock import ManualClock

Call = Callable[[Any], Any]
KEY = {"pk": {"S": "order-1"}}
WITH_OLD_ITEM = {"ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
FIRST_ONLY = {
    "TableName": "shop",
    "Item": KEY,
    "ConditionExpression": "attribute_not_exists(pk)",
    **WITH_OLD_ITEM,
}

ATTRIBUTES = {
    "QueueUrl": "https://sqs.eu-west-1.amazonaws.com/123456789012/work",
    "AttributeNames": ["ApproximateNumberOfMessages"],
}


def prepared(*, short: bool) -> tuple[LocalAws, Any]:
    aws = LocalAws(ManualClock(), seed=1)
    session = aws.session()
    session.client("dynamodb").create_table(
        TableName="shop",
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    session.client("s3").create_bucket(
        Bucket="files", CreateBucketConfiguration={"LocationConstraint": "eu-west-1"}
    )
    assert session.client("sqs").create_queue(QueueName="work")["QueueUrl"] == ATTRIBUTES["QueueUrl"]
    if short:
        shortcut.take(session, aws)
    return aws, session


def answered(session: Any, service: str, call: Call) -> Any:
    try:
        answer = call(session.client(service))
    except ClientError as refused:
        answer = {"raised": type(refused).__name__, **refused.response}
    answer.pop("ResponseMetadata", None)
    return answer


TWICE = [{"Put": FIRST_ONLY}, {"Put": {"TableName": "shop", "Item": {"pk": {"S": "order-2"}}}}]


@pytest.mark.parametrize(
    ("service", "calls"),
    [
        pytest.param("dynamodb", [lambda c: c.put_item(TableName="shop", Item=KEY)], id="a write"),
        pytest.param("dynamodb", [lambda c: c.put_item(**FIRST_ONLY)] * 2, id="a failed condition"),
        pytest.param(
            "dynamodb",
            [lambda c: c.transact_write_items(TransactItems=TWICE)] * 2,
            id="a cancelled transaction",
        ),
        pytest.param("dynamodb", [lambda c: c.get_item(TableName="none", Key=KEY)], id="a table that is not"),
        pytest.param("s3", [lambda c: c.put_object(Bucket="files", Key="a.pdf", Body=b"%PDF")], id="a file"),
        pytest.param(
            "s3",
            [lambda c: c.put_object(Bucket="none", Key="a.pdf", Body=b"%PDF")],
            id="a bucket that is not",
        ),
        pytest.param("sqs", [lambda c: c.get_queue_attributes(**ATTRIBUTES)], id="a queue's attributes"),
        pytest.param(
            "sqs", [lambda c: c.get_queue_attributes(**{**ATTRIBUTES, "QueueUrl": "none"})], id="no queue"
        ),
    ],
)
def test_an_answer_is_the_same_either_way(service: str, calls: list[Call]) -> None:
    _, over_the_wire = prepared(short=False)
    _, shortened = prepared(short=True)

    seen = [[answered(session, service, call) for call in calls] for session in (over_the_wire, shortened)]

    assert [_core(each) for each in seen[1]] == [_core(each) for each in seen[0]]


NOBODY_READS = {"message", "Message", "BucketName", "ChecksumCRC32", "ChecksumType"}


def _core(answer: dict[str, Any]) -> dict[str, Any]:
    """Without what the wire adds, and nobody reads."""
    core = {name: value for name, value in answer.items() if name not in NOBODY_READS}
    if "Error" in core:
        core["Error"] = {name: core["Error"][name] for name in ("Code", "Message")}
    return core


def test_published_entries_get_their_ids_either_way() -> None:
    aws, session = prepared(short=True)

    client = session.client("sns")
    events = client.create_topic(Name="events")["TopicArn"]
    with aws.metered() as calls:
        answer = client.publish_batch(
            TopicArn=events, PublishBatchRequestEntries=[{"Id": "0", "Message": "hello"}]
        )

    assert [entry["Id"] for entry in answer["Successful"]] == ["0"]
    assert answer["Failed"] == []
    assert [call.operation for call in calls] == ["PublishBatch"]


def test_a_throttled_call_goes_the_whole_way_and_the_sdk_retries_it() -> None:
    aws, session = prepared(short=True)
    over_the_wire: list[str] = []
    session.events.register("before-send.dynamodb.PutItem", lambda **_: over_the_wire.append("sent"))
    client = session.client("dynamodb")
    aws.switches.throttle("dynamodb", "PutItem")

    client.put_item(TableName="shop", Item=KEY)
    client.put_item(TableName="shop", Item=KEY)

    assert over_the_wire == ["sent", "sent"]
