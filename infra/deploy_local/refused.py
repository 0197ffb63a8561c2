"""What is left out of a built template, because MiniStack 1.5.33 refuses the stack for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def refused(template: Mapping[str, Any]) -> Sequence[str]:
    """Logical ids: alarms on more than one metric (metric math)."""
    return [
        logical_id
        for logical_id, resource in template["Resources"].items()
        if resource["Type"] == "AWS::CloudWatch::Alarm" and "Metrics" in resource["Properties"]
    ]


def without(template: Mapping[str, Any], left_out: Sequence[str]) -> dict[str, Any]:
    """The template without these resources."""
    kept = {name: body for name, body in template["Resources"].items() if name not in left_out}
    return {**template, "Resources": kept}
