"""One key of one caller on one route is one piece of work, however often it is asked for.

Source: draft-ietf-httpapi-idempotency-key-header
"""

import base64
import hashlib
import re
from typing import Any

from pydantic import BaseModel

from . import strict_json
from .http import Request
from .problems import bad_request

HEADER = "Idempotency-Key"
REPLAYED = "Idempotency-Replayed"
MAX_KEY_CHARACTERS = 255
_DIGEST_CHARACTERS = 26
"""130 bits in base32: below the chance of any collision, short in every key, event and log line."""
_SETTLEMENT_KEY = re.compile(f"([a-z2-7]{{{_DIGEST_CHARACTERS}}})-[a-z2-7]{{{_DIGEST_CHARACTERS}}}")


def key_of(request: Request) -> str:
    """The request's key. Raises `Problem` 400 when it is missing, blank, too long or not visible ASCII."""
    key = request.header(HEADER)
    if not key:
        raise bad_request("idempotency_key", HEADER, "must be given and not blank")
    if len(key) > MAX_KEY_CHARACTERS or not all("!" <= character <= "~" for character in key):
        raise bad_request(
            "idempotency_key", HEADER, f"must be 1 to {MAX_KEY_CHARACTERS} visible ASCII characters"
        )
    return key


def derived_id(caller: str, route: str, key: str) -> str:
    """The id of what this request makes: every repeat of it finds the same item, no other request does."""
    return _digest([caller, route, key])


def settlement_key(request_id: str, fingerprint: str) -> str:
    """The key for whatever is settled inline: the same for every repeat, another for another payload."""
    return f"{request_id}-{fingerprint}"


def id_in_settlement_key(key: str) -> str | None:
    """Which request a settlement was for; None when the key is none of ours."""
    found = _SETTLEMENT_KEY.fullmatch(key)
    return found[1] if found else None


def fingerprint_of(payload: BaseModel) -> str:
    """Equal for bodies that mean the same: spacing, key order and spelled-out defaults do not count."""
    return _digest(payload.model_dump(mode="json", by_alias=True, exclude_defaults=True))


def _digest(value: Any) -> str:
    # JSON frames the parts: ["ab", "c"] and ["a", "bc"] are different texts
    hashed = hashlib.sha256(strict_json.canonical(value).encode()).digest()
    return base64.b32encode(hashed).decode().lower()[:_DIGEST_CHARACTERS]
