"""The engine on moto: real boto3 calls, a clock in our hands, and a small business of its own."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from typing import Any

import boto3
import botocore.session
import pytest
from botocore.loaders import create_loader
from moto import mock_aws
from pydantic import BaseModel, ConfigDict

from handlers.postroom.aws.deployment import Deployment
from handlers.postroom.aws.tables import DynamoStore
from handlers.postroom.events import Event, EventType

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
REGION = "eu-west-1"


class ThingDone(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True)

    customer: str
    amount: int


THING_DONE = EventType("thing.done", 1, ThingDone)


class ThingDone3(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True)

    customer: str
    price: str


def with_currency(data: dict[str, Any]) -> dict[str, Any]:
    return {**data, "currency": "NGN"}


def with_price(data: dict[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in data.items() if name not in ("amount", "currency")}
    return {**kept, "price": f"{data['amount']} {data['currency']}"}


THING_DONE_3 = EventType("thing.done", 3, ThingDone3, upcasts={1: with_currency, 2: with_price})
"""The same event two versions on."""


def thing(number: int = 1001, amount: int = 2_042_500, version: int = 1) -> Event[ThingDone]:
    event = THING_DONE.new(
        f"thing-{number}",
        ThingDone(customer=f"c{number}", amount=amount),
        sequence=1,
        time=NOW,
        owner="alice",
        trace="",
    )
    return event if version == 1 else Event(**{**_fields(event), "version": version})


def _fields(event: Event[Any]) -> dict[str, Any]:
    return {name: getattr(event, name) for name in Event.__slots__}


def sqs_record(
    body: str | Event[Any],
    *,
    message_id: str = "m1",
    receive_count: int = 1,
    publication: str = "p1",
    sent_at: float = NOW.timestamp(),
) -> dict[str, Any]:
    """One record as Lambda hands it over."""
    return {
        "messageId": message_id,
        "receiptHandle": f"handle-{message_id}-{receive_count}",
        "body": body if isinstance(body, str) else body.to_json(),
        "attributes": {
            "ApproximateReceiveCount": str(receive_count),
            "SentTimestamp": str(int(sent_at * 1000)),
        },
        "messageAttributes": {"publication": {"stringValue": publication, "dataType": "String"}},
        "eventSource": "aws:sqs",
    }


@dataclass
class Invocation:
    """A Lambda context whose remaining time a test decides."""

    remaining_ms: Callable[[], int] = lambda: 30_000
    aws_request_id: str = "request-1"

    def get_remaining_time_in_millis(self) -> int:
        return self.remaining_ms()


@dataclass
class Time:
    now: float = field(default=NOW.timestamp())

    def __call__(self) -> float:
        return self.now


@dataclass
class World:
    """Two tables and a queue on moto, the calls made to them, and the clock."""

    deployment: Deployment
    time: Time
    calls: list[str]
    sqs: Any
    queue_url: str

    @property
    def store(self) -> DynamoStore:
        return DynamoStore(self.deployment)

    def job(self, event_id: str = "thing-1001-done", subscriber: str = "points") -> dict[str, Any]:
        from handlers.postroom.storage import Key

        key = Key("jobs", event_id, subscriber)
        return dict(self.store.read([key]).get(key, {}))

    def take_own_session(self) -> boto3.Session:
        """A session that no other test uses, to hook into: of this world's clients from now on."""
        session = recorded(new_session(), self.calls)
        self.deployment = replace(self.deployment, session=session, _clients={})
        return session

    def forget_calls(self) -> None:
        self.calls.clear()


@pytest.fixture(autouse=True)
def aws_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    monkeypatch.setenv("AWS_ACCOUNT_ID_ENDPOINT_MODE", "disabled")


@pytest.fixture
def time() -> Time:
    return Time()


_SERVICE_MODELS = create_loader()


def new_session() -> boto3.Session:
    """Reading the services' descriptions takes longest: one copy of them serves every test."""
    core = botocore.session.get_session()
    core.register_component("data_loader", _SERVICE_MODELS)
    return boto3.Session(region_name=REGION, botocore_session=core)


def recorded(session: boto3.Session, calls: list[str]) -> boto3.Session:
    """Note what clients that are made of it from now on are asked for."""
    session.events.register("before-call.*.*", lambda model, **_: calls.append(str(model.name)))
    return session


# Making clients takes longer than most tests: they outlive them, what is behind them does not. They are
# first asked for while moto runs: it hooks into the sessions made from then on.
_CALLS: list[str] = []
_CLIENTS: dict[str, Any] = {}


@cache
def _session() -> boto3.Session:
    return recorded(new_session(), _CALLS)


@cache
def _unrecorded_session() -> boto3.Session:
    return new_session()


@cache
def client(service: str) -> Any:
    """One whose calls are not recorded."""
    # boto3's types know a client by its name, written out.
    return _unrecorded_session().client(service)  # type: ignore[call-overload]


@pytest.fixture
def world(time: Time) -> Iterator[World]:
    with mock_aws():
        _make_tables(client("dynamodb"))
        queue_url = client("sqs").create_queue(QueueName="work")["QueueUrl"]
        topic_arn = client("sns").create_topic(Name="events")["TopicArn"]
        environ = {
            "SHOP_TABLE": "Shop",
            "JOBS_TABLE": "Jobs",
            "QUEUE_URL": queue_url,
            "QUEUE_PREFIX": "stack-",
            "TOPIC_ARN": topic_arn,
        }
        numbers = iter(range(10_000))
        deployment = Deployment(
            environ,
            _session(),
            clock=time,
            chance=lambda: 1.0,
            new_id=lambda: f"publication-{next(numbers)}",
            sleep=lambda seconds: setattr(time, "now", time.now + seconds),
            _clients=_CLIENTS,
        )
        _CALLS.clear()
        yield World(deployment, time, _CALLS, client("sqs"), queue_url)


def _make_tables(dynamodb: Any) -> None:
    for name in ("Shop", "Jobs"):
        dynamodb.create_table(
            TableName=name,
            KeySchema=[
                {"AttributeName": "pk", "KeyType": "HASH"},
                {"AttributeName": "sk", "KeyType": "RANGE"},
            ],
            AttributeDefinitions=[
                {"AttributeName": "pk", "AttributeType": "S"},
                {"AttributeName": "sk", "AttributeType": "S"},
                {"AttributeName": "unpublished", "AttributeType": "S"},
                {"AttributeName": "bornAt", "AttributeType": "N"},
            ],
            GlobalSecondaryIndexes=[
                {
                    "IndexName": "unpublished",
                    "KeySchema": [
                        {"AttributeName": "unpublished", "KeyType": "HASH"},
                        {"AttributeName": "bornAt", "KeyType": "RANGE"},
                    ],
                    "Projection": {"ProjectionType": "KEYS_ONLY"},
                }
            ],
            BillingMode="PAY_PER_REQUEST",
        )


def body_of(event: Event[Any], **changes: Any) -> str:
    """The event's text with some envelope members changed, as an odd producer might write it."""
    return json.dumps({**json.loads(event.to_json()), **changes})
