"""Erasing takes every version of an invoice that a bucket with versioning keeps: on moto, which has them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from moto import mock_aws

from handlers.shop.invoices import name_of_invoice
from infra.ops.core.erasure import erase, of_subject
from infra.ops.core.target import Resource, Target

REGION = "eu-west-1"
NAMES = {"ShopTable": "shop", "JobsTable": "jobs", "InvoiceBucket": "invoices"}


@pytest.fixture
def target(monkeypatch: pytest.MonkeyPatch) -> Iterator[Target]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    with mock_aws():
        target = Target(
            "stack",
            boto3.Session(region_name=REGION),
            [Resource(logical_id, "", name) for logical_id, name in NAMES.items()],
            by="olu",
        )
        for table in ("shop", "jobs"):
            _make_table(target, table)
        s3 = target.client("s3")
        s3.create_bucket(Bucket="invoices", CreateBucketConfiguration={"LocationConstraint": REGION})
        # Not by a call of the client: of those the local model knows all, and it has no versions.
        target.session.resource("s3").BucketVersioning("invoices").enable()
        yield target


def _make_table(target: Target, name: str) -> None:
    target.client("dynamodb").create_table(
        TableName=name,
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
        AttributeDefinitions=[
            {"AttributeName": "pk", "AttributeType": "S"},
            {"AttributeName": "sk", "AttributeType": "S"},
        ],
        BillingMode="PAY_PER_REQUEST",
    )


def order(target: Target, order_id: str, owner: str, versions: int) -> str:
    """An order whose invoice was written so many times; returns the invoice's name."""
    item = {"pk": f"order-{order_id}", "sk": "entity", "owner": owner}
    target.client("dynamodb").put_item(
        TableName="shop", Item={name: {"S": value} for name, value in item.items()}
    )
    for version in range(versions):
        target.client("s3").put_object(Bucket="invoices", Key=name_of_invoice(order_id), Body=b"%d" % version)
    return name_of_invoice(order_id)


def kept(target: Target) -> dict[str, int]:
    """How many versions and marks of deletion there are of each object."""
    listed: Any = target.client("s3").list_object_versions(Bucket="invoices")
    counts: dict[str, int] = {}
    for each in [*listed.get("Versions", ()), *listed.get("DeleteMarkers", ())]:
        counts[each["Key"]] = counts.get(each["Key"], 0) + 1
    return counts


def test_every_version_of_her_invoices_goes_and_every_one_of_his_stays(target: Target) -> None:
    hers, his = order(target, "1001", "ada", versions=3), order(target, "1002", "bola", versions=2)
    before = kept(target)

    found = of_subject(target, "ada")
    erase(target, "ada", found, lambda _done, _of: None)

    assert (before, found.counts["invoice files"]) == ({hers: 3, his: 2}, 3)
    assert kept(target) == {his: 2}


def test_invoice_that_was_deleted_already_is_taken_from_behind_its_mark_of_deletion(target: Target) -> None:
    hers = order(target, "1001", "ada", versions=2)
    target.client("s3").delete_object(Bucket="invoices", Key=hers)
    before = kept(target)

    erase(target, "ada", of_subject(target, "ada"), lambda _done, _of: None)

    assert before == {hers: 3}
    assert kept(target) == {}


def test_second_run_after_one_that_was_cut_off_takes_what_is_left(target: Target) -> None:
    hers = order(target, "1001", "ada", versions=2)
    found = of_subject(target, "ada")
    target.client("s3").delete_object(Bucket="invoices", Key=hers, VersionId=found.files[0].version)

    erase(target, "ada", of_subject(target, "ada"), lambda _done, _of: None)

    assert kept(target) == {}
