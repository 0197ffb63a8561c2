"""From a request on the wire to a service's operation and back, whichever protocol the service speaks."""

import re

from infra.local.aws import wire_json, wire_query, wire_rest, wire_s3
from infra.local.aws.errors import AwsError
from infra.local.aws.messages import Answer, Request
from infra.local.aws.model import LocalAws

# The signature names the service: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv.html
_CREDENTIAL_SCOPE = re.compile(r"Credential=[^/]+/\d+/[^/]+/([^/]+)/aws4_request")


def answer(aws: LocalAws, request: Request) -> Answer:
    """Answer any request; the protocol is recognised by the request itself."""
    if "x-amz-target" in request.headers:
        return wire_json.answer(aws, request)
    if request.headers.get("content-type", "").startswith("application/x-www-form-urlencoded"):
        return wire_query.answer(aws, request)
    scope = _CREDENTIAL_SCOPE.search(request.headers.get("authorization", ""))
    host = request.parts.hostname or ""
    if (scope is not None and scope[1] == wire_rest.SERVICE) or host.startswith(f"{wire_rest.SERVICE}."):
        return wire_rest.answer(aws, request)
    # Nothing else of what is modelled takes anonymous requests.
    if scope is not None and scope[1] != "s3":
        error = AwsError("UnrecognizedClientException", "Not a request of a service that is modelled")
        return wire_s3.error_answer(error)
    return wire_s3.answer(aws, request)
