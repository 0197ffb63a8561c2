"""The signature scheme of Standard Webhooks 1.0: HMAC-SHA256 over id, timestamp and body.

Source: github.com/standard-webhooks/standard-webhooks, "Signature scheme" and "Webhook headers"
"""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Mapping, Sequence

PREFIX = "whsec_"
SECRET_BYTES = 32
"""The specification asks for 24 to 64."""
TOLERANCE_SECONDS = 300


def secret_of(key: bytes) -> str:
    """The form in which a secret is shown to its owner."""
    return PREFIX + base64.b64encode(key).decode()


def signature(secret: str, message_id: str, timestamp: int, body: bytes) -> str:
    """`v1,` and the base64 of the HMAC. `timestamp` is epoch seconds. Raises ValueError for no secret."""
    signed = b".".join((message_id.encode(), str(timestamp).encode(), body))
    digest = hmac.new(_key(secret), signed, hashlib.sha256).digest()
    return f"v1,{base64.b64encode(digest).decode()}"


def headers(secrets: Sequence[str], message_id: str, timestamp: int, body: bytes) -> dict[str, str]:
    """The three headers. One signature per secret, so that a receiver may change from one to the next."""
    signatures = [signature(secret, message_id, timestamp, body) for secret in secrets]
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(signatures),
    }


def is_signed(secret: str, told: Mapping[str, str], body: bytes, now: float) -> bool:
    """What a receiver does: whether one of the signatures is by this secret, and the time is about now.

    `told` has lower-case names, `now` is epoch seconds.
    """
    stamp = told.get("webhook-timestamp", "")
    if not (stamp.isascii() and stamp.isdigit()) or abs(now - int(stamp)) > TOLERANCE_SECONDS:
        return False
    wanted = signature(secret, told.get("webhook-id", ""), int(stamp), body)
    given = told.get("webhook-signature", "").split(" ")
    return any(hmac.compare_digest(wanted.encode(), each.encode()) for each in given)


def _key(secret: str) -> bytes:
    try:
        return base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    except binascii.Error:
        raise ValueError("not a webhook secret") from None
