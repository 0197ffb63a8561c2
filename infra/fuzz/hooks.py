"""Loaded by schemathesis, in its own environment: gives each request a key of its own.

The same key with another payload is refused, as it must be, and then nothing else of it is looked at.
"""

from __future__ import annotations

import itertools
import re
from typing import Any

import schemathesis

HEADER = "Idempotency-Key"
_USABLE = re.compile(r"[!-~]{1,255}")
_LONGEST_PREFIX = 240
_numbers = itertools.count()


# Without a type here: schemathesis is in its own environment, which is not the one that types are checked in.
@schemathesis.hook  # type: ignore[untyped-decorator]
def before_call(_context: Any, case: Any, _kwargs: Any) -> None:
    """Number a usable key; one that is meant to be refused stays as it is."""
    key = (case.headers or {}).get(HEADER)
    if isinstance(key, str) and _USABLE.fullmatch(key):
        case.headers[HEADER] = f"{key[:_LONGEST_PREFIX]}.{next(_numbers)}"
