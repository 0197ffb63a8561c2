"""What AWS may do to its callers, turned on: the model then does it."""

from typing import Any

import pytest
from botocore.exceptions import ClientError

from infra.local.aws import AwsError
from tests.contract.backends import Model
from tests.contract.builders import (
    allow,
    create_queue,
    create_table,
    item,
    key,
    number,
    queue_arn,
    refused,
    text,
)


@pytest.fixture
def sqs(model: Model) -> Any:
    return model.client("sqs")


@pytest.fixture
def queue(sqs: Any) -> str:
    return create_queue(sqs, "work")


@pytest.fixture
def dynamodb(model: Model) -> Any:
    client = model.client("dynamodb")
    create_table(client)
    return client


def bodies(sqs: Any, queue: str) -> list[str]:
    answer = sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10)
    return [message["Body"] for message in answer.get("Messages", [])]


def test_a_duplicate_survives_the_deletion_of_the_first(model: Model, sqs: Any, queue: str) -> None:
    model.aws.switches.duplicate_delivery = 1.0
    sqs.send_message(QueueUrl=queue, MessageBody="order")
    (first,) = sqs.receive_message(QueueUrl=queue)["Messages"]
    model.aws.switches.duplicate_delivery = 0.0
    sqs.delete_message(QueueUrl=queue, ReceiptHandle=first["ReceiptHandle"])

    (second,) = sqs.receive_message(QueueUrl=queue)["Messages"]
    sqs.delete_message(QueueUrl=queue, ReceiptHandle=second["ReceiptHandle"])

    assert second["MessageId"] == first["MessageId"]
    assert model.aws.sqs.queue("work").messages == []


def test_disorder_loses_nothing(model: Model, sqs: Any, queue: str) -> None:
    model.aws.switches.reorder = True
    sent = [str(number) for number in range(30)]
    for body in sent:
        sqs.send_message(QueueUrl=queue, MessageBody=body)

    received = [body for _ in range(3) for body in bodies(sqs, queue)]

    assert sorted(received) == sorted(sent)
    assert received != sent


def test_short_receives_leave_the_rest_for_later(model: Model, sqs: Any, queue: str) -> None:
    model.aws.switches.short_receives = True
    for number_ in range(10):
        sqs.send_message(QueueUrl=queue, MessageBody=str(number_))

    batches = [bodies(sqs, queue) for _ in range(10)]

    assert len(batches[0]) < 10
    assert sorted(body for batch in batches for body in batch) == [str(number_) for number_ in range(10)]


def test_a_throttled_call_is_retried_by_the_sdk(
    model: Model, dynamodb: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("botocore.endpoint.time.sleep", lambda _: None)
    model.aws.switches.throttle("dynamodb", "PutItem", calls=2)

    with model.aws.metered() as calls:
        dynamodb.put_item(TableName="Shop", Item=item("a"))

    assert [call.error for call in calls] == ["ProvisionedThroughputExceededException"] * 2 + [None]


@pytest.mark.parametrize(
    ("service", "operation", "params", "code"),
    [
        (
            "dynamodb",
            "GetItem",
            {"TableName": "Shop", "Key": key("a")},
            "ProvisionedThroughputExceededException",
        ),
        ("sqs", "ReceiveMessage", {"QueueUrl": "work"}, "RequestThrottled"),
        ("sns", "PublishBatch", {"TopicArn": "events", "PublishBatchRequestEntries": []}, "Throttling"),
    ],
    ids=["dynamodb", "sqs", "sns"],
)
def test_throttling_has_each_services_own_name(
    model: Model, service: str, operation: str, params: dict[str, Any], code: str
) -> None:
    model.aws.switches.throttle(service, operation)

    with pytest.raises(AwsError) as refusal:
        model.aws.request(service, operation, params)

    assert refusal.value.code == code


def test_reads_may_be_stale_unless_they_are_consistent(model: Model, dynamodb: Any) -> None:
    model.aws.switches.stale_seconds = 1.0
    dynamodb.put_item(TableName="Shop", Item=item("a"))

    def found(consistent: bool) -> bool:
        return "Item" in dynamodb.get_item(TableName="Shop", Key=key("a"), ConsistentRead=consistent)

    assert (found(True), found(False)) == (True, False)
    model.advance(1.0)
    assert found(False)


def test_an_index_may_be_stale(model: Model, dynamodb: Any) -> None:
    dynamodb.put_item(TableName="Shop", Item=item("a", unpublished=text("0"), bornAt=number(1)))
    model.aws.switches.stale_seconds = 1.0
    dynamodb.put_item(TableName="Shop", Item=item("b", unpublished=text("0"), bornAt=number(2)))
    dynamodb.update_item(TableName="Shop", Key=key("a"), UpdateExpression="REMOVE unpublished")

    def listed() -> list[str]:
        answer = dynamodb.query(
            TableName="Shop",
            IndexName="unpublished",
            KeyConditionExpression="unpublished = :u",
            ExpressionAttributeValues={":u": text("0")},
        )
        return [one["pk"]["S"] for one in answer["Items"]]

    assert listed() == ["a"]
    model.advance(1.0)
    assert listed() == ["b"]


def test_a_batch_read_may_leave_keys(model: Model, dynamodb: Any) -> None:
    for pk in "abc":
        dynamodb.put_item(TableName="Shop", Item=item(pk))
    model.aws.switches.partial("dynamodb", "BatchGetItem")
    wanted = {"Shop": {"Keys": [key(pk) for pk in "abc"], "ConsistentRead": True}}

    first = dynamodb.batch_get_item(RequestItems=wanted)
    second = dynamodb.batch_get_item(RequestItems=first["UnprocessedKeys"])

    assert first["Responses"]["Shop"] == [item("a"), item("c")]
    assert first["UnprocessedKeys"] == {"Shop": {"Keys": [key("b")], "ConsistentRead": True}}
    assert second["Responses"]["Shop"] == [item("b")]


def test_statements_may_conflict(model: Model, dynamodb: Any) -> None:
    dynamodb.put_item(TableName="Shop", Item=item("a", n=number(1)))
    model.aws.switches.partial("dynamodb", "BatchExecuteStatement")
    statement = {
        "Statement": 'UPDATE "Shop" REMOVE n WHERE pk=? AND sk=?',
        "Parameters": [text("a"), text("entity")],
    }

    answers = [dynamodb.batch_execute_statement(Statements=[statement])["Responses"][0] for _ in range(2)]

    assert [answer.get("Error", {}).get("Code") for answer in answers] == ["TransactionConflict", None]


def test_a_transaction_may_conflict(model: Model, dynamodb: Any) -> None:
    model.aws.switches.partial("dynamodb", "TransactWriteItems")
    puts = [{"Put": {"TableName": "Shop", "Item": item(pk)}} for pk in "ab"]

    with refused("TransactionCanceledException") as failure:
        dynamodb.transact_write_items(TransactItems=puts)

    codes = [reason["Code"] for reason in failure.value.response["CancellationReasons"]]
    assert codes == ["TransactionConflict", "None"]
    assert model.aws.dynamodb.table("Shop").items == []


def test_a_publish_may_fail_in_part(model: Model, sqs: Any, queue: str) -> None:
    sns = model.client("sns")
    topic = sns.create_topic(Name="events")["TopicArn"]
    allow(sqs, topic, queue)
    sns.subscribe(
        TopicArn=topic,
        Protocol="sqs",
        Endpoint=queue_arn(sqs, queue),
        Attributes={"RawMessageDelivery": "true"},
    )
    model.aws.switches.partial("sns", "PublishBatch")

    answer = sns.publish_batch(
        TopicArn=topic, PublishBatchRequestEntries=[{"Id": one, "Message": one} for one in "0123"]
    )

    assert [entry["Id"] for entry in answer["Successful"]] == ["0", "2"]
    assert [(entry["Id"], entry["SenderFault"]) for entry in answer["Failed"]] == [("1", False), ("3", False)]
    assert bodies(sqs, queue) == ["0", "2"]


def test_the_same_seed_gives_the_same_run() -> None:
    def run() -> list[Any]:
        model = Model()
        model.aws.switches.reorder = True
        sqs = model.client("sqs")
        queue = create_queue(sqs, "work")
        ids = [sqs.send_message(QueueUrl=queue, MessageBody=str(one))["MessageId"] for one in range(20)]
        return [ids, bodies(sqs, queue)]

    assert run() == run()


def test_what_is_not_modelled_is_refused_loudly(model: Model) -> None:
    with pytest.raises(ClientError, match="not modelled"):
        model.client("sqs").list_queues()
