"""Amazon S3: buckets, and whole objects put and got.

https://docs.aws.amazon.com/AmazonS3/latest/API/API_Operations_Amazon_Simple_Storage_Service.html
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from infra.local.aws.errors import AwsError
from infra.local.aws.region import Region

Params = Mapping[str, Any]

UNVERSIONED = "null"
"""The version of an object in a bucket without versioning, as the model's all are."""


@dataclass(frozen=True)
class StoredObject:
    """One object; `at` in seconds since the epoch."""

    body: bytes
    content_type: str
    at: float
    metadata: Mapping[str, str] = field(default_factory=dict)

    @property
    def etag(self) -> str:
        return f'"{hashlib.md5(self.body, usedforsecurity=False).hexdigest()}"'


class S3:
    """All buckets of the account; reads after a write are strongly consistent, as on AWS."""

    def __init__(self, region: Region) -> None:
        self._region = region
        self.buckets: dict[str, dict[str, StoredObject]] = {}

    def create_bucket(self, params: Params) -> dict[str, Any]:
        if params["Bucket"] in self.buckets:
            raise AwsError(
                "BucketAlreadyOwnedByYou", "Your previous request succeeded and you already own it.", 409
            )
        self.buckets[params["Bucket"]] = {}
        return {"Location": f"/{params['Bucket']}"}

    def put_object(self, params: Params) -> StoredObject:
        """`IfNoneMatch: *` refuses to replace an object.

        https://docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-writes.html
        """
        bucket = self._bucket(params["Bucket"])
        if params.get("IfNoneMatch") == "*" and params["Key"] in bucket:
            raise AwsError(
                "PreconditionFailed", "At least one of the pre-conditions you specified did not hold", 412
            )
        stored = StoredObject(
            params.get("Body", b""),
            params.get("ContentType") or "binary/octet-stream",
            self._region.clock.now(),
            params.get("Metadata") or {},
        )
        bucket[params["Key"]] = stored
        return stored

    def get_object(self, params: Params) -> StoredObject:
        stored = self._bucket(params["Bucket"]).get(params["Key"])
        if stored is None:
            raise AwsError("NoSuchKey", "The specified key does not exist.", 404, {"Key": params["Key"]})
        return stored

    def list_object_versions(self, params: Params) -> dict[str, StoredObject]:
        """By key, those that begin with the prefix. Without versioning, each has one version, `null`.

        https://docs.aws.amazon.com/AmazonS3/latest/userguide/list-obj-version-enabled-bucket.html
        """
        bucket, prefix = self._bucket(params["Bucket"]), params.get("Prefix") or ""
        return {key: bucket[key] for key in sorted(bucket) if key.startswith(prefix)}

    def delete_object(self, params: Params) -> None:
        """What is not there is deleted as well.

        https://docs.aws.amazon.com/AmazonS3/latest/API/API_DeleteObject.html
        """
        if params.get("VersionId") in (None, UNVERSIONED):
            self._bucket(params["Bucket"]).pop(params["Key"], None)

    def _bucket(self, name: str) -> dict[str, StoredObject]:
        bucket = self.buckets.get(name)
        if bucket is None:
            raise AwsError("NoSuchBucket", "The specified bucket does not exist", 404, {"BucketName": name})
        return bucket
