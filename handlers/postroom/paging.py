"""What a list's request says of the page it wants."""

from .http import Request
from .problems import bad_request

DEFAULT_LIMIT, MAX_LIMIT = 20, 100
LIMIT = {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT}
"""The schema of the query's `limit`."""


def limit_of(request: Request) -> int:
    """How many rows at most, from the query's `limit`. Raises `Problem` 400 for what is no such number."""
    text = request.query.get("limit", str(DEFAULT_LIMIT))
    limit = int(text) if text.isascii() and text.isdigit() and len(text) <= len(str(MAX_LIMIT)) else 0
    if not 1 <= limit <= MAX_LIMIT:
        raise bad_request("bad_query", "limit", f"must be a number from 1 to {MAX_LIMIT}")
    return limit
