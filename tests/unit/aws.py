"""AWS as moto has it, for the handlers' tests."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache

import boto3
import pytest
from moto import mock_aws

REGION = "eu-west-1"


@dataclass
class Invocation:
    """A Lambda context with the given milliseconds left."""

    remaining_ms: int = 30_000
    aws_request_id: str = "request-1"

    def get_remaining_time_in_millis(self) -> int:
        return self.remaining_ms


@contextmanager
def moto_session(monkeypatch: pytest.MonkeyPatch) -> Iterator[boto3.Session]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    monkeypatch.setenv("AWS_ACCOUNT_ID_ENDPOINT_MODE", "disabled")
    with mock_aws():
        yield _session()


@cache
def _session() -> boto3.Session:
    """One for all tests: its loaded service models are what makes the first client slow."""
    return boto3.Session(region_name=REGION)


def make_tables(session: boto3.Session) -> None:
    for name in ("Shop", "Jobs"):
        session.client("dynamodb").create_table(
            TableName=name,
            KeySchema=[
                {"AttributeName": "pk", "KeyType": "HASH"},
                {"AttributeName": "sk", "KeyType": "RANGE"},
            ],
            AttributeDefinitions=[
                {"AttributeName": "pk", "AttributeType": "S"},
                {"AttributeName": "sk", "AttributeType": "S"},
            ],
            BillingMode="PAY_PER_REQUEST",
        )
