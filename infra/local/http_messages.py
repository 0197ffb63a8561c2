"""HTTP requests and answers, as the local API gateway takes and gives them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class HttpRequest:
    """One request as it came over the wire. Header names are lower-case; a name may repeat."""

    method: str
    path: str
    query: str = ""
    headers: Sequence[tuple[str, str]] = ()
    body: bytes = b""
    source_ip: str = "127.0.0.1"

    @classmethod
    def of(
        cls, method: str, target: str, headers: Mapping[str, str] | None = None, body: bytes | str = b""
    ) -> HttpRequest:
        """Build a request from a target such as `/jobs/x?y=1`."""
        path, _, query = target.partition("?")
        named = [(name.lower(), value) for name, value in (headers or {}).items()]
        return cls(method.upper(), path, query, named, body.encode() if isinstance(body, str) else body)

    def header(self, name: str) -> str:
        """All values of a header, joined as API Gateway joins them; empty when absent."""
        return ",".join(value for key, value in self.headers if key == name)


@dataclass(frozen=True)
class HttpAnswer:
    """One answer. Header names are lower-case."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    cookies: Sequence[str] = ()

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def text(self) -> str:
        return self.body.decode()
