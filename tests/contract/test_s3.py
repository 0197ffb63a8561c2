"""Objects come back as they went.

https://docs.aws.amazon.com/AmazonS3/latest/userguide/Welcome.html
"""

import io
from typing import Any

import pytest

from tests.contract.backends import REGION
from tests.contract.builders import refused


@pytest.fixture
def bucket(s3: Any) -> str:
    s3.create_bucket(Bucket="invoices", CreateBucketConfiguration={"LocationConstraint": REGION})
    return "invoices"


@pytest.mark.parametrize(
    "key", ["order-1001.pdf", "2026/11/order 1001 é+%.pdf", "a//b"], ids=["plain", "odd", "slashes"]
)
@pytest.mark.parametrize(
    "body", [b"", b"%PDF-1.7\x00\xff", b"0\r\n\r\n" * 70_000], ids=["empty", "bytes", "large"]
)
def test_an_object_comes_back_as_it_went(s3: Any, bucket: str, key: str, body: bytes) -> None:
    put = s3.put_object(
        Bucket=bucket, Key=key, Body=body, ContentType="application/pdf", Metadata={"order": "1001"}
    )

    got = s3.get_object(Bucket=bucket, Key=key)

    assert got["Body"].read() == body
    assert got["ContentType"] == "application/pdf"
    assert got["Metadata"] == {"order": "1001"}
    assert got["ETag"] == put["ETag"]
    assert got["ContentLength"] == len(body)


def test_a_body_may_be_a_file(s3: Any, bucket: str) -> None:
    s3.put_object(Bucket=bucket, Key="a", Body=io.BytesIO(b"streamed"))

    assert s3.get_object(Bucket=bucket, Key="a")["Body"].read() == b"streamed"


def test_a_put_replaces(s3: Any, bucket: str) -> None:
    for body in (b"one", b"two"):
        s3.put_object(Bucket=bucket, Key="a", Body=body)

    assert s3.get_object(Bucket=bucket, Key="a")["Body"].read() == b"two"


def test_what_is_deleted_is_gone_and_may_be_deleted_again(s3: Any, bucket: str) -> None:
    for key in ("invoices/1.pdf", "invoices/2.pdf", "other"):
        s3.put_object(Bucket=bucket, Key=key, Body=b"x")

    for _ in range(2):
        s3.delete_object(Bucket=bucket, Key="invoices/1.pdf")

    with refused("NoSuchKey"):
        s3.get_object(Bucket=bucket, Key="invoices/1.pdf")
    assert s3.get_object(Bucket=bucket, Key="invoices/2.pdf")["Body"].read() == b"x"


def test_without_versioning_each_object_has_one_version_that_can_be_deleted(s3: Any, bucket: str) -> None:
    """https://docs.aws.amazon.com/AmazonS3/latest/userguide/versioning-workflows.html"""
    for key in ("invoices/1.pdf", "invoices/1.pdf", "invoices/é &.pdf", "other"):
        s3.put_object(Bucket=bucket, Key=key, Body=b"x")

    versions = s3.list_object_versions(Bucket=bucket, Prefix="invoices/")["Versions"]

    named = [(each["Key"], each["VersionId"]) for each in versions]
    assert named == [("invoices/1.pdf", "null"), ("invoices/é &.pdf", "null")]
    for key, version in named:
        s3.delete_object(Bucket=bucket, Key=key, VersionId=version)
    assert "Versions" not in s3.list_object_versions(Bucket=bucket, Prefix="invoices/")


def test_a_put_may_insist_on_being_the_first(s3: Any, bucket: str) -> None:
    """https://docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-writes.html"""
    s3.put_object(Bucket=bucket, Key="a", Body=b"one", IfNoneMatch="*")

    with refused("PreconditionFailed"):
        s3.put_object(Bucket=bucket, Key="a", Body=b"two", IfNoneMatch="*")


def test_what_is_not_there_is_told(s3: Any, bucket: str) -> None:
    with pytest.raises(s3.exceptions.NoSuchKey):
        s3.get_object(Bucket=bucket, Key="none")
    with pytest.raises(s3.exceptions.NoSuchBucket):
        s3.get_object(Bucket="nowhere", Key="none")


def test_a_bucket_is_made_once(s3: Any, bucket: str) -> None:
    with refused("BucketAlreadyOwnedByYou"):
        s3.create_bucket(Bucket=bucket, CreateBucketConfiguration={"LocationConstraint": REGION})
