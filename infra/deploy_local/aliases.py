"""Whether what is called at an alias is what was deployed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

COPIED = ("CodeSha256", "Environment", "MemorySize", "Role", "Timeout")
"""Of a function's configuration, what a version keeps as it was when it was published."""


@dataclass(frozen=True, slots=True)
class Called:
    """A function's alias: whether its version is as the function is now, and whether it has a snapshot."""

    function: str
    is_current: bool
    has_snapshot: bool


def called(client: Any, functions: Iterable[str]) -> Iterator[Called]:
    """Every alias of the functions of these names, through a Lambda client."""
    for name in functions:
        now = client.get_function_configuration(FunctionName=name)
        for alias in client.list_aliases(FunctionName=name)["Aliases"]:
            version = client.get_function_configuration(FunctionName=name, Qualifier=alias["Name"])
            yield Called(
                name,
                all(version.get(key) == now.get(key) for key in COPIED),
                version.get("SnapStart", {}).get("ApplyOn") == "PublishedVersions",
            )
