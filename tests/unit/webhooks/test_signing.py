"""Signatures as Standard Webhooks 1.0 has them."""

import base64

import pytest

from handlers.postroom.webhooks import signing

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
ID = "msg_p5jXN8AQM9LWM0D4loKWxJek"
STAMP = 1_614_265_330
BODY = b'{"test": 2432232314}'
SIGNATURE = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
"""The example that the specification's own libraries are tested with."""
OTHER = signing.secret_of(bytes(range(32)))


def told(**changes: str) -> dict[str, str]:
    return {**signing.headers([SECRET], ID, STAMP, BODY), **changes}


def test_the_specifications_example_comes_out() -> None:
    assert signing.signature(SECRET, ID, STAMP, BODY) == SIGNATURE


def test_the_headers_are_id_timestamp_and_signature() -> None:
    assert told() == {"webhook-id": ID, "webhook-timestamp": str(STAMP), "webhook-signature": SIGNATURE}


def test_there_is_a_signature_for_each_secret_and_either_convinces() -> None:
    both = signing.headers([OTHER, SECRET], ID, STAMP, BODY)

    assert len(both["webhook-signature"].split(" ")) == 2
    assert signing.is_signed(SECRET, both, BODY, STAMP)
    assert signing.is_signed(OTHER, both, BODY, STAMP)


def test_a_secret_is_its_key_in_base64_behind_a_prefix() -> None:
    assert base64.b64decode(OTHER.removeprefix("whsec_")) == bytes(range(32))


@pytest.mark.parametrize(
    ("headers", "body", "now"),
    [
        pytest.param(told(), b'{"test": 2432232315}', STAMP, id="another-body"),
        pytest.param(told(**{"webhook-id": "msg_other"}), BODY, STAMP, id="another-id"),
        pytest.param(told(**{"webhook-timestamp": str(STAMP + 1)}), BODY, STAMP, id="another-time"),
        pytest.param(told(**{"webhook-timestamp": "now"}), BODY, STAMP, id="no-time"),
        pytest.param(told(**{"webhook-signature": SIGNATURE[3:]}), BODY, STAMP, id="no-version"),
        pytest.param(told(), BODY, STAMP + 301, id="too-old"),
        pytest.param(told(), BODY, STAMP - 301, id="from-the-future"),
        pytest.param({}, BODY, STAMP, id="nothing"),
    ],
)
def test_what_was_not_signed_so_is_refused(headers: dict[str, str], body: bytes, now: float) -> None:
    assert not signing.is_signed(SECRET, headers, body, now)


def test_what_is_no_secret_is_an_error() -> None:
    with pytest.raises(ValueError, match="not a webhook secret"):
        signing.signature("whsec_!", ID, STAMP, BODY)
