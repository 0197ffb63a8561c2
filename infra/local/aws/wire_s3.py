"""Amazon S3's REST protocol, as far as we use it.

https://docs.aws.amazon.com/AmazonS3/latest/API/RESTAPI.html
"""

import base64
import email.utils
import zlib
from collections.abc import Mapping
from urllib.parse import parse_qsl, unquote
from xml.sax.saxutils import escape

from infra.local.aws.errors import AwsError
from infra.local.aws.messages import Answer, Request
from infra.local.aws.model import LocalAws
from infra.local.aws.s3 import UNVERSIONED, StoredObject

_METADATA = "x-amz-meta-"
_CRC32 = "x-amz-checksum-crc32"


def answer(aws: LocalAws, request: Request) -> Answer:
    try:
        return _answer(aws, request, *_address(request))
    except AwsError as error:
        return error_answer(error)


def _answer(aws: LocalAws, request: Request, bucket: str, key: str) -> Answer:
    if request.method == "PUT" and not key:
        aws.request("s3", "CreateBucket", {"Bucket": bucket})
        return Answer(200, {"location": f"/{bucket}"})
    if request.method == "PUT":
        return _put(aws, bucket, key, request)
    if request.method == "GET" and not key and "versions" in (query := _query(request)):
        return _versions(aws, bucket, query)
    if request.method == "DELETE" and key:
        version = _query(request).get("versionId")
        aws.request("s3", "DeleteObject", {"Bucket": bucket, "Key": key, "VersionId": version})
        return Answer(204, {})
    if request.method == "GET" and key:
        stored: StoredObject = aws.request("s3", "GetObject", {"Bucket": bucket, "Key": key})
        return Answer(200, _object_headers(stored), stored.body)
    raise AwsError("NotImplemented", "A header or query implies functionality that is not implemented.", 501)


def error_answer(error: AwsError) -> Answer:
    details = {"Code": error.code, "Message": error.message, **error.fields, "RequestId": "local"}
    inner = "".join(f"<{name}>{escape(str(value))}</{name}>" for name, value in details.items())
    return Answer(error.status, {"content-type": "application/xml"}, f"<Error>{inner}</Error>".encode())


def _address(request: Request) -> tuple[str, str]:
    """Bucket and key, whether the bucket leads the host's name or the path.

    https://docs.aws.amazon.com/AmazonS3/latest/userguide/VirtualHosting.html
    """
    host, path = request.parts.hostname or "", unquote(request.parts.path).lstrip("/")
    bucket, dot, rest = host.partition(".")
    if dot and (rest.startswith("s3.") or rest == "localhost"):
        return bucket, path
    bucket, _, key = path.partition("/")
    return bucket, key


def _put(aws: LocalAws, bucket: str, key: str, request: Request) -> Answer:
    headers = request.headers
    body, trailers = request.body, headers
    if "aws-chunked" in headers.get("content-encoding", ""):
        body, trailers = _unchunked(request.body)
    _check_crc32(body, {**headers, **trailers}.get(_CRC32))
    stored: StoredObject = aws.request(
        "s3",
        "PutObject",
        {
            "Bucket": bucket,
            "Key": key,
            "Body": body,
            "ContentType": headers.get("content-type"),
            "IfNoneMatch": headers.get("if-none-match"),
            "Metadata": {
                name[len(_METADATA) :]: value for name, value in headers.items() if name.startswith(_METADATA)
            },
        },
    )
    return Answer(200, {"etag": stored.etag, _CRC32: _crc32(body)})


def _query(request: Request) -> dict[str, str]:
    return dict(parse_qsl(request.parts.query, keep_blank_values=True))


def _versions(aws: LocalAws, bucket: str, query: Mapping[str, str]) -> Answer:
    """All on one page. https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListObjectVersions.html"""
    prefix = query.get("prefix", "")
    found: dict[str, StoredObject] = aws.request(
        "s3", "ListObjectVersions", {"Bucket": bucket, "Prefix": prefix}
    )
    versions = "".join(
        f"<Version><Key>{escape(key)}</Key><VersionId>{UNVERSIONED}</VersionId><IsLatest>true</IsLatest>"
        f"<ETag>{escape(stored.etag)}</ETag><Size>{len(stored.body)}</Size></Version>"
        for key, stored in found.items()
    )
    head = f"<Name>{escape(bucket)}</Name><Prefix>{escape(prefix)}</Prefix><IsTruncated>false</IsTruncated>"
    body = f"<ListVersionsResult>{head}{versions}</ListVersionsResult>"
    return Answer(200, {"content-type": "application/xml"}, body.encode())


def _unchunked(body: bytes) -> tuple[bytes, Mapping[str, str]]:
    """The content and the trailing headers of an aws-chunked body.

    https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-streaming-trailers.html
    """
    content = bytearray()
    while True:
        line, _, body = body.partition(b"\r\n")
        size = int(line.partition(b";")[0], 16)
        if size == 0:
            lines = [one.decode() for one in body.split(b"\r\n") if one]
            return bytes(content), {
                name.lower(): value.strip() for name, _, value in (one.partition(":") for one in lines)
            }
        content += body[:size]
        body = body[size + 2 :]


def _check_crc32(body: bytes, expected: str | None) -> None:
    """https://docs.aws.amazon.com/AmazonS3/latest/userguide/checking-object-integrity.html"""
    if expected is not None and expected != _crc32(body):
        raise AwsError("BadDigest", "The CRC32 you specified did not match the calculated checksum.")


def _crc32(body: bytes) -> str:
    return base64.b64encode(zlib.crc32(body).to_bytes(4, "big")).decode()


def _object_headers(stored: StoredObject) -> dict[str, str]:
    return {
        "content-type": stored.content_type,
        "content-length": str(len(stored.body)),
        "etag": stored.etag,
        "last-modified": email.utils.formatdate(stored.at, usegmt=True),
        _CRC32: _crc32(stored.body),
        **{f"{_METADATA}{name}": value for name, value in stored.metadata.items()},
    }
