from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from infra.local.http_api import PAYLOAD_LIMIT_BYTES, HttpApi
from infra.local.http_messages import HttpAnswer, HttpRequest
from infra.local.routes import Route
from infra.local.tokens import Issuer, new_key
from tests.unit.local.functions import Probe

NOW = 1_583_348_638.39
issuer = Issuer("https://issuer.example", ["web"])


class Api:
    def __init__(self, *answers: Any) -> None:
        self.probe = Probe(*answers)
        routes = [
            Route("POST", "/checkout", self.probe.function, True),
            Route("GET", "/jobs/{id}", self.probe.function, False),
            Route("GET", "/jobs/summary", self.probe.function, False),
            Route("ANY", "/files/{path+}", self.probe.function, False),
        ]
        self.api = HttpApi(routes, issuer, "123456789012")

    def call(
        self, method: str, target: str, headers: dict[str, str] | None = None, body: bytes = b""
    ) -> HttpAnswer:
        return self.api.handle(HttpRequest.of(method, target, headers, body), NOW)

    @property
    def event(self) -> Any:
        return self.probe.events[-1]


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def test_event_has_payload_format_2() -> None:
    api = Api({"statusCode": 202})
    headers = {
        **bearer(issuer.token("alice")),
        "Content-Type": "application/json",
        "Cookie": "a=1; b=2",
        "X-Tag": "é",
    }

    api.call("POST", "/checkout?x=1&x=2&y=", headers, b'{"a":1}')

    event = api.event
    assert event["version"] == "2.0"
    assert event["routeKey"] == event["requestContext"]["routeKey"] == "POST /checkout"
    assert (event["rawPath"], event["rawQueryString"]) == ("/checkout", "x=1&x=2&y=")
    assert event["queryStringParameters"] == {"x": "1,2", "y": ""}
    assert event["headers"]["content-type"] == "application/json"
    assert event["cookies"] == ["a=1", "b=2"]
    assert (event["body"], event["isBase64Encoded"]) == ('{"a":1}', False)
    assert event["requestContext"]["http"]["method"] == "POST"
    assert event["requestContext"]["timeEpoch"] == 1_583_348_638_390
    assert event["requestContext"]["time"] == "04/Mar/2020:19:03:58 +0000"
    assert event["requestContext"]["authorizer"]["jwt"]["claims"]["sub"] == "alice"


def test_claims_reach_the_function_as_text() -> None:
    api = Api({"statusCode": 200})

    api.call("POST", "/checkout", bearer(issuer.token("alice", verified=True, groups=["a", "b"])))

    claims = api.event["requestContext"]["authorizer"]["jwt"]["claims"]
    assert (claims["verified"], claims["groups"]) == ("true", "[a b]")
    assert claims["exp"].isdigit()


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({}, id="none"),
        pytest.param(bearer("nonsense"), id="nonsense"),
        pytest.param(bearer(issuer.token("alice", lifetime=-1)), id="expired"),
        pytest.param(bearer(issuer.token("alice", iss="https://other.example")), id="issuer"),
        pytest.param(bearer(issuer.token("alice", aud="other")), id="audience"),
        pytest.param(bearer(issuer.token("alice", nbf=9_999_999_999)), id="not-yet"),
    ],
)
def test_request_without_a_valid_token_is_401_and_reaches_no_function(headers: dict[str, str]) -> None:
    api = Api({"statusCode": 200})

    answer = api.call("POST", "/checkout", headers)

    assert (answer.status, answer.json) == (401, {"message": "Unauthorized"})
    assert api.probe.events == []


def test_token_signed_with_another_key_is_401_and_reaches_no_function() -> None:
    api = Api({"statusCode": 200})
    key = new_key()
    stranger = Issuer(issuer.name, issuer.audience, lambda: key)

    answer = api.call("POST", "/checkout", bearer(stranger.token("alice")))

    assert (answer.status, answer.json) == (401, {"message": "Unauthorized"})
    assert api.probe.events == []


def test_client_id_stands_in_for_the_audience_as_cognito_has_it() -> None:
    api = Api({"statusCode": 200})

    answer = api.call("POST", "/checkout", bearer(issuer.token("alice", aud=None, client_id="web")))

    assert answer.status == 200


@pytest.mark.parametrize(
    ("method", "path", "key", "parameters"),
    [
        ("GET", "/jobs/order-1%3Areceipts", "GET /jobs/{id}", {"id": "order-1:receipts"}),
        ("GET", "/jobs/summary", "GET /jobs/summary", None),
        ("PUT", "/files/a/b", "ANY /files/{path+}", {"path": "a/b"}),
    ],
)
def test_most_specific_route_matches(method: str, path: str, key: str, parameters: Any) -> None:
    api = Api({"statusCode": 200})

    api.call(method, path)

    assert (api.event["routeKey"], api.event.get("pathParameters")) == (key, parameters)


@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/checkout"), ("POST", "/other"), ("GET", "/jobs/"), ("GET", "/jobs/a/b")]
)
def test_unknown_route_is_404(method: str, path: str) -> None:
    answer = Api().call(method, path)

    assert (answer.status, answer.json) == (404, {"message": "Not Found"})


@pytest.mark.parametrize(
    ("content_type", "body"),
    [("application/json", b"\xff\xfe"), ("application/octet-stream", b"abc"), ("", b"abc")],
)
def test_binary_body_arrives_base64_encoded(content_type: str, body: bytes) -> None:
    api = Api({"statusCode": 200})

    api.call("PUT", "/files/x", {"content-type": content_type}, body)

    assert api.event["isBase64Encoded"] is True
    assert base64.b64decode(api.event["body"]) == body


def test_request_without_body_has_no_body() -> None:
    api = Api({"statusCode": 200})

    api.call("GET", "/jobs/1")

    assert "body" not in api.event


def test_body_over_the_payload_limit_is_413_and_reaches_no_function() -> None:
    api = Api({"statusCode": 200})

    assert api.call("PUT", "/files/x", body=bytes(PAYLOAD_LIMIT_BYTES)).status == 200
    assert api.call("PUT", "/files/x", body=bytes(PAYLOAD_LIMIT_BYTES + 1)).status == 413
    assert len(api.probe.events) == 1


def test_answer_is_passed_on_with_lower_case_headers_and_cookies() -> None:
    api = Api({"statusCode": 202, "headers": {"Location": "/jobs/1"}, "body": '{"a":1}', "cookies": ["a=1"]})

    answer = api.call("GET", "/jobs/1")

    assert (answer.status, answer.headers["location"], answer.json, answer.cookies) == (
        202,
        "/jobs/1",
        {"a": 1},
        ("a=1",),
    )


def test_base64_answer_is_decoded() -> None:
    body = base64.b64encode(b"\x00\xff").decode()

    assert (
        Api({"statusCode": 200, "body": body, "isBase64Encoded": True}).call("GET", "/jobs/1").body
        == b"\x00\xff"
    )


def test_answer_without_status_is_200_json() -> None:
    answer = Api({"a": 1}).call("GET", "/jobs/1")

    assert (answer.status, answer.json, answer.headers["content-type"]) == (200, {"a": 1}, "application/json")


@pytest.mark.parametrize(
    "failure", [RuntimeError("x"), {"statusCode": "ok"}, {"statusCode": 200, "headers": 5}, {"x": object()}]
)
def test_failing_function_is_500_without_details(failure: Any) -> None:
    answer = Api(failure).call("GET", "/jobs/1")

    assert (answer.status, answer.json) == (500, {"message": "Internal Server Error"})


def test_function_that_overran_its_time_limit_is_500() -> None:
    api = Api()

    def slow(_event: Any, context: Any) -> Any:
        assert context.get_remaining_time_in_millis() == 30_000
        api.probe.clock.now += 31
        assert context.get_remaining_time_in_millis() == 0
        return {"statusCode": 200}

    api.probe._answers[:] = [slow]

    assert api.call("GET", "/jobs/1").status == 500
    assert "Task timed out after 30.00 seconds" in str(api.probe.invocations[0].error)
    assert json.dumps(api.probe.invocations[0].answer) == "null"
