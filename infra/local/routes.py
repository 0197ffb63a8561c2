"""Routes of an HTTP API, matched in API Gateway's order: full match, greedy path, `$default`.

Source: https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-routes.html
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from infra.local.functions import Function

_PARAMETER = re.compile(r"\\\{(\w+)(\\\+)?\\\}")


@dataclass(frozen=True)
class Route:
    """`method` may be ANY; a path of `$default` takes what nothing else does."""

    method: str
    path: str
    function: Function
    authorized: bool

    @property
    def key(self) -> str:
        return self.path if self.path == "$default" else f"{self.method} {self.path}"


class RouteTable:
    """The routes of one API."""

    def __init__(self, routes: Sequence[Route]) -> None:
        self.routes = sorted(routes, key=_precedence)
        self._patterns = [(route, _pattern(route.path)) for route in self.routes]

    def match(self, method: str, path: str) -> tuple[Route, Mapping[str, str]] | None:
        """Return the route of a request and its path parameters."""
        for route, pattern in self._patterns:
            found = pattern.fullmatch(path) if route.method in (method, "ANY") else None
            if found:
                return route, found.groupdict()
        return None


def _precedence(route: Route) -> tuple[bool, bool, int, bool, str]:
    path = route.path
    return path == "$default", "+}" in path, path.count("{"), route.method == "ANY", path


def _pattern(path: str) -> re.Pattern[str]:
    if path == "$default":
        return re.compile(".*")
    return re.compile(
        _PARAMETER.sub(lambda found: f"(?P<{found[1]}>{'.+' if found[2] else '[^/]+'})", re.escape(path))
    )
