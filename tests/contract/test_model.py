"""What only the model can show: expiry, trimming, large backlogs, many threads, HTTP."""

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from typing import Any

import boto3
import pytest
from moto.dynamodb.parsing.reserved_keywords import ReservedKeywords

from infra.local.aws import LocalAws, ManualClock, SystemClock
from infra.local.aws.dynamodb.expressions.reserved import RESERVED
from infra.local.aws.http import app
from tests.contract.backends import REGION, START, Model
from tests.contract.builders import create_queue, create_table, item, key, number, queue_arn, refused, text

HOUR = 3600


def test_expired_items_stay_until_they_are_removed_by_the_service(model: Model) -> None:
    """https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/howitworks-ttl.html"""
    dynamodb = model.client("dynamodb")
    create_table(dynamodb)
    dynamodb.update_time_to_live(
        TableName="Shop", TimeToLiveSpecification={"Enabled": True, "AttributeName": "expires"}
    )
    for pk, expires in (
        ("gone", number(int(START) + 10)),
        ("kept", number(int(START) + 20)),
        ("text", text("1")),
    ):
        dynamodb.put_item(TableName="Shop", Item=item(pk, expires=expires))
    model.advance(11)
    assert "Item" in dynamodb.get_item(TableName="Shop", Key=key("gone"))

    assert model.aws.dynamodb.expire() == 1

    assert "Item" not in dynamodb.get_item(TableName="Shop", Key=key("gone"))
    stream = model.aws.dynamodb.table("Shop").stream
    assert stream is not None
    last = stream.records[-1]
    assert last["eventName"] == "REMOVE"
    assert last["userIdentity"] == {"type": "Service", "principalId": "dynamodb.amazonaws.com"}


def test_a_token_is_good_for_ten_minutes(model: Model) -> None:
    dynamodb = model.client("dynamodb")
    create_table(dynamodb)
    add = {
        "TableName": "Shop",
        "Key": key("a"),
        "UpdateExpression": "ADD points :p",
        "ExpressionAttributeValues": {":p": number(204)},
    }

    def points() -> str:
        dynamodb.transact_write_items(TransactItems=[{"Update": add}], ClientRequestToken="token-1")
        found: str = dynamodb.get_item(TableName="Shop", Key=key("a"))["Item"]["points"]["N"]
        return found

    assert points() == "204"
    model.advance(599)
    assert points() == "204"
    model.advance(1)
    assert points() == "408"  # DDB-7


def test_records_are_kept_for_a_day(model: Model) -> None:
    dynamodb = model.client("dynamodb")
    arn = create_table(dynamodb)["LatestStreamArn"]
    dynamodb.put_item(TableName="Shop", Item=item("old"))
    model.advance(12 * HOUR)
    dynamodb.put_item(TableName="Shop", Item=item("new"))
    stream = model.aws.dynamodb.stream(arn)
    oldest = stream.records[0]["dynamodb"]["SequenceNumber"]

    model.advance(12 * HOUR + 1)

    assert [record["dynamodb"]["Keys"] for record in stream.records] == [key("new")]
    streams = model.client("dynamodbstreams")
    shard = streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"][0]["ShardId"]
    with refused("TrimmedDataAccessException"):
        streams.get_shard_iterator(
            StreamArn=arn, ShardId=shard, ShardIteratorType="AT_SEQUENCE_NUMBER", SequenceNumber=oldest
        )


def test_an_iterator_is_good_for_a_quarter_of_an_hour(model: Model) -> None:
    """https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_streams_GetShardIterator.html"""
    arn = create_table(model.client("dynamodb"))["LatestStreamArn"]
    streams = model.client("dynamodbstreams")
    shard = streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"][0]["ShardId"]
    iterator = streams.get_shard_iterator(StreamArn=arn, ShardId=shard, ShardIteratorType="LATEST")[
        "ShardIterator"
    ]

    model.advance(15 * 60)

    with refused("ExpiredIteratorException"):
        streams.get_records(ShardIterator=iterator)


def test_the_next_due_message_is_known(model: Model) -> None:
    sqs = model.client("sqs")
    queue = create_queue(sqs, "work")
    assert model.aws.next_due() is None

    sqs.send_message(QueueUrl=queue, MessageBody="now")
    sqs.send_message(QueueUrl=queue, MessageBody="later", DelaySeconds=60)
    assert model.aws.next_due() == START + 60

    (message,) = sqs.receive_message(QueueUrl=queue)["Messages"]
    assert model.aws.next_due() == START + 30
    sqs.delete_message(QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"])
    assert model.aws.next_due() == START + 60


def test_a_receive_does_not_search_the_backlog(model: Model) -> None:
    sqs = model.client("sqs")
    queue = create_queue(sqs, "work")
    for _ in range(50_000):
        model.aws.request("sqs", "SendMessage", {"QueueUrl": queue, "MessageBody": "x"})

    began = time.thread_time()
    received = [sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10)["Messages"] for _ in range(20)]
    seconds = time.thread_time() - began

    assert len({message["MessageId"] for batch in received for message in batch}) == 200
    # of processor time: a search would take some milliseconds for each of the 200 messages' 50,000 neighbours
    assert seconds < 2


def test_reserved_words_are_those_that_others_know() -> None:
    assert set(ReservedKeywords.get_reserved_keywords()) == RESERVED


def test_a_long_poll_ends_when_a_message_comes() -> None:
    aws = LocalAws(SystemClock())
    sqs = aws.session().client("sqs")
    queue = create_queue(sqs, "work")

    with ThreadPoolExecutor() as pool:
        poll = pool.submit(sqs.receive_message, QueueUrl=queue, WaitTimeSeconds=20)
        sqs.send_message(QueueUrl=queue, MessageBody="order")

        assert len(poll.result(timeout=10)["Messages"]) == 1


def test_eight_threads_lose_no_message_and_double_none() -> None:
    aws = LocalAws(ManualClock())
    sqs = aws.session().client("sqs")
    queue = create_queue(sqs, "work")
    sent = [f"{sender}-{one}" for sender in range(4) for one in range(100)]
    received: Counter[str] = Counter()
    done = threading.Event()

    def send(sender: int) -> None:
        for one in range(100):
            sqs.send_message(QueueUrl=queue, MessageBody=f"{sender}-{one}")

    def consume() -> None:
        while True:
            was_done = done.is_set()
            messages = sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10).get("Messages", [])
            for message in messages:
                received[message["Body"]] += 1
                sqs.delete_message(QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"])
            if was_done and not messages:
                return

    with ThreadPoolExecutor(8) as pool:
        consumers = [pool.submit(consume) for _ in range(4)]
        for sender in [pool.submit(send, one) for one in range(4)]:
            sender.result()
        done.set()
        for consumer in consumers:
            consumer.result()

    assert received == Counter(sent)
    assert aws.sqs.queue("work").messages == []


def test_eight_threads_lose_no_write() -> None:
    aws = LocalAws(ManualClock())
    dynamodb = aws.session().client("dynamodb")
    create_table(dynamodb)

    def add(_: int) -> None:
        for _ in range(25):
            dynamodb.update_item(
                TableName="Shop",
                Key=key("a"),
                UpdateExpression="ADD n :one",
                ExpressionAttributeValues={":one": number(1)},
            )

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(add, range(8)))

    assert dynamodb.get_item(TableName="Shop", Key=key("a"))["Item"]["n"] == number(200)


@pytest.fixture
def endpoint() -> Iterator[str]:
    """The model's address, served over HTTP on loopback."""
    import uvicorn

    server = uvicorn.Server(
        uvicorn.Config(
            app(LocalAws(SystemClock(), region=REGION)), host="127.0.0.1", port=0, log_level="error"
        )
    )
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        thread.join(0.01)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    thread.join()


@pytest.fixture
def client(endpoint: str) -> Iterator[Callable[[str], Any]]:
    """Makes clients that go through a socket, and closes them."""
    session = boto3.Session("local", "local", region_name=REGION)
    with ExitStack() as made:

        def client(service: str) -> Any:
            return made.enter_context(closing(session.client(service, endpoint_url=endpoint)))  # type: ignore[call-overload]

        yield client


def test_every_service_answers_over_http(client: Callable[[str], Any]) -> None:
    sqs, sns, s3 = client("sqs"), client("sns"), client("s3")
    dynamodb, streams = client("dynamodb"), client("dynamodbstreams")

    queue = create_queue(sqs, "work")
    sqs.send_message(QueueUrl=queue, MessageBody="₦")
    topic = sns.create_topic(Name="events")["TopicArn"]
    stream = create_table(dynamodb)["LatestStreamArn"]
    dynamodb.put_item(TableName="Shop", Item=item("a"))
    s3.create_bucket(Bucket="invoices", CreateBucketConfiguration={"LocationConstraint": REGION})
    s3.put_object(Bucket="invoices", Key="2026/a é.pdf", Body=b"%PDF" * 50_000)
    scheduler = client("scheduler")
    for name in ("order-1", "order-2"):
        scheduler.create_schedule(
            Name=name,
            ScheduleExpression="at(2099-01-01T00:00:00)",
            FlexibleTimeWindow={"Mode": "OFF"},
            Target={"Arn": queue_arn(sqs, queue), "RoleArn": "arn:aws:iam::123456789012:role/any"},
        )

    assert sqs.receive_message(QueueUrl=queue)["Messages"][0]["Body"] == "₦"
    assert topic.endswith(":events")
    assert [one["Name"] for one in scheduler.list_schedules(NamePrefix="order-1")["Schedules"]] == ["order-1"]
    scheduler.delete_schedule(Name="order-1")
    with refused("ResourceNotFoundException"):
        scheduler.get_schedule(Name="order-1")
    assert dynamodb.get_item(TableName="Shop", Key=key("a"))["Item"] == item("a")
    assert streams.describe_stream(StreamArn=stream)["StreamDescription"]["Shards"]
    assert s3.get_object(Bucket="invoices", Key="2026/a é.pdf")["Body"].read() == b"%PDF" * 50_000
    with refused("ConditionalCheckFailedException"):
        dynamodb.put_item(TableName="Shop", Item=item("a"), ConditionExpression="attribute_not_exists(pk)")


@pytest.mark.parametrize(
    "statement",
    [{"NotAction": "sqs:*"}, {"Condition": {"IpAddress": {"aws:SourceIp": "10.0.0.0/8"}}}],
    ids=["element", "operator"],
)
def test_a_policy_that_is_not_modelled_is_refused_and_not_guessed_at(model: Model, statement: Any) -> None:
    sqs = model.client("sqs")
    queue = create_queue(sqs, "work")
    policy = json.dumps({"Statement": [{"Effect": "Allow", "Principal": "*", "Action": "*", **statement}]})

    with refused("InvalidAttributeValue"):
        sqs.set_queue_attributes(QueueUrl=queue, Attributes={"Policy": policy})


@pytest.mark.parametrize(
    "address",
    [
        pytest.param("{own}", id="LOCAL-1-as-the-model-told-it"),
        pytest.param("http://localhost:4566/123456789012/work", id="LOCAL-1-of-another-host"),
        pytest.param("http://host.docker.internal:8701/queue/work", id="LOCAL-1-as-a-container-sees-it"),
    ],
)
def test_a_queue_is_reached_at_the_clients_endpoint_whatever_host_its_url_names(
    client: Callable[[str], Any], address: str
) -> None:
    sqs = client("sqs")
    own = create_queue(sqs, "work")

    sqs.send_message(QueueUrl=address.format(own=own), MessageBody="hello")

    assert sqs.receive_message(QueueUrl=own)["Messages"][0]["Body"] == "hello"
