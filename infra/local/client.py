"""A small client of the API, for demonstrations and measurements."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

TIMEOUT_SECONDS = 30
OPEN_STATES = frozenset({"queued", "running", "retrying"})


@dataclass(frozen=True)
class Answer:
    """An answer of the API. Header names are lower-case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Client:
    """One caller on one kept connection; a connection that was lost is made anew. Paths are below the URL."""

    def __init__(self, url: str, token: str) -> None:
        self._address = urlsplit(url).netloc
        self._base = urlsplit(url).path.rstrip("/")
        self._headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}
        self._connection: http.client.HTTPConnection | None = None

    def command(self, path: str, key: str, body: Mapping[str, Any]) -> Answer:
        """POST under an idempotency key. Raises `OSError` without an answer: then send it again."""
        return self._ask("POST", path, {"idempotency-key": key}, json.dumps(body))

    def get(self, path: str) -> Answer:
        return self._ask("GET", path)

    def post(self, path: str) -> Answer:
        return self._ask("POST", path)

    def delete(self, path: str) -> Answer:
        return self._ask("DELETE", path)

    def follow(self, path: str, seconds: float, until: Callable[[Any], bool] | None = None) -> Any:
        """Poll a status page until it is what is waited for (no more open job). Raises `TimeoutError`."""
        is_there = until or (lambda status: status["state"] not in OPEN_STATES)
        end = time.monotonic() + seconds
        while not is_there(status := self.get(path).json):
            if time.monotonic() > end:
                raise TimeoutError(f"{path} is still {status['state']} after {seconds:g} s: {status}")
            time.sleep(0.05)
        return status

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _ask(
        self, method: str, path: str, headers: Mapping[str, str] | None = None, body: str | None = None
    ) -> Answer:
        if self._connection is None:
            self._connection = http.client.HTTPConnection(self._address, timeout=TIMEOUT_SECONDS)
        try:
            self._connection.request(method, self._base + path, body, {**self._headers, **(headers or {})})
            response = self._connection.getresponse()
            received = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, received, response.read())
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise ConnectionError(str(error)) from error


def jobs_of(status: Mapping[str, Any]) -> dict[str, Any]:
    """The jobs of an event's status page, by subscriber."""
    return {job["id"].rpartition(":")[2]: job for job in status["jobs"]}
