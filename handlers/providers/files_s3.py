"""Files in an S3 bucket."""

from dataclasses import dataclass
from typing import Any, Protocol

from ..postroom.aws.deployment import Deployment


class Files(Protocol):
    def put(self, name: str, content: bytes, content_type: str) -> str:
        """Store the content under a name, replacing what is there, and return where it is."""


@dataclass(frozen=True, slots=True)
class S3Files:
    client: Any
    bucket: str

    def put(self, name: str, content: bytes, content_type: str) -> str:
        """Returns `s3://bucket/name`. A repeat replaces the object with the same bytes."""
        self.client.put_object(Bucket=self.bucket, Key=name, Body=content, ContentType=content_type)
        return f"s3://{self.bucket}/{name}"


def from_deployment(deployment: Deployment) -> S3Files:
    return S3Files(deployment.client("s3"), deployment.setting("INVOICE_BUCKET"))
