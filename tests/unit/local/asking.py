"""One request over HTTP, as anybody's client makes it."""

from __future__ import annotations

import http.client
from collections.abc import Mapping
from urllib.parse import urlsplit


def ask(
    url: str, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None
) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=10)
    try:
        connection.request(method, path, body, dict(headers or {}))
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()
