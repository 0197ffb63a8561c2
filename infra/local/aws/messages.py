"""Requests and answers as they travel."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import SplitResult, urlsplit


@dataclass(frozen=True)
class Request:
    """An HTTP request; header names in lower case."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def parts(self) -> SplitResult:
        return urlsplit(self.url)


@dataclass(frozen=True)
class Answer:
    """An HTTP answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes = field(default=b"", repr=False)
