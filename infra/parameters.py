"""What a template says that a parameter's value must be, as CloudFormation holds it to that.

https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/parameters-section-structure.html
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any


def text(value: object) -> str:
    """A value as CloudFormation passes it on: always a text, YAML's booleans in small letters."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def wrong(declared: Mapping[str, Any], value: str) -> str | None:
    """What the value of a parameter, declared so, must be and is not; None for a value that it may have.

    The template's `ConstraintDescription` is the answer where it has one.
    """
    reason = next((reason for one in _parts(declared, value) for reason in _reasons(declared, one)), None)
    return reason and str(declared.get("ConstraintDescription", reason))


def _parts(declared: Mapping[str, Any], value: str) -> list[str]:
    """The values of a list are held to its constraints one by one."""
    kind = declared["Type"]
    is_list = kind == "CommaDelimitedList" or kind.startswith("List<")
    return [part.strip() for part in value.split(",")] if is_list else [value]


def _reasons(declared: Mapping[str, Any], value: str) -> Iterator[str]:
    if declared["Type"] in ("Number", "List<Number>"):
        yield from _of_number(declared, value)
    else:
        yield from _of_text(declared, value)
    allowed = [text(one) for one in declared.get("AllowedValues", [value])]
    if value not in allowed:
        yield f"must be one of {', '.join(allowed)}"


def _of_number(declared: Mapping[str, Any], value: str) -> Iterator[str]:
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        yield "must be a number"
        return
    if number < float(declared.get("MinValue", number)):
        yield f"must be at least {declared['MinValue']}"
    if number > float(declared.get("MaxValue", number)):
        yield f"must be at most {declared['MaxValue']}"


def _of_text(declared: Mapping[str, Any], value: str) -> Iterator[str]:
    if len(value) < int(declared.get("MinLength", 0)):
        yield f"must have at least {declared['MinLength']} characters"
    if len(value) > int(declared.get("MaxLength", len(value))):
        yield f"must have at most {declared['MaxLength']} characters"
    # Java's expressions there: what the two languages share is what templates use.
    pattern = declared.get("AllowedPattern")
    if pattern is not None and not re.fullmatch(pattern, value):
        yield f"must match {pattern}"
