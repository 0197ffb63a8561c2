"""A subscriber's block in template.yaml: written as text, so that everything else stays as it is."""

from __future__ import annotations

import re
from pathlib import Path

from handlers.postroom.retries import RetryPolicy
from infra import dashboard
from infra.checks.mappings import VISIBILITY_PER_TIMEOUT
from infra.checks.subscriptions import least_receive_count
from infra.ops.core.errors import Refused
from infra.scaffold.asked import Asked

BLOCK = Path(__file__).parent / "subscriber.yaml"
TIMEOUT_SECONDS = 30
HEADER_WIDTH = 109

_REFERENCE = re.compile(r"!(?:Ref|GetAtt) (\w+)\b(?!::)")
_RESOURCE = re.compile(r"^  (\w+):", re.MULTILINE)
_SECTION = re.compile(r"^(?:  # ---- |\S)", re.MULTILINE)
"""Where something new begins: a headed part of the resources, or a top-level key."""


def block(asked: Asked) -> str:
    values = {
        "header": f"  # ---- {asked.title}: works on {asked.event.name} ".ljust(HEADER_WIDTH, "-"),
        "Name": asked.title.replace(" ", ""),
        "name": asked.name,
        "module": asked.module,
        "event": asked.event.name,
        "timeout": str(TIMEOUT_SECONDS),
        "visibility": str(VISIBILITY_PER_TIMEOUT * TIMEOUT_SECONDS),
        "receives": str(least_receive_count(RetryPolicy().attempts)),
        "grant": f"- {asked.filled(asked.form.grant)}",
        "environment": "".join(
            f"\n          {variable}: !Ref {resource}"
            for variable, resource in asked.form.environment.items()
        ),
    }
    return re.sub(r"@(\w+)@", lambda found: values[found[1]], BLOCK.read_text(encoding="utf-8"))


def with_block(template: str, asked: Asked) -> str:
    """The template with the block after the last subscriber's, and its dashboard, which shows the new one.

    Raises `Refused` when a resource of that name is there already, or one that the block needs is not.
    """
    new = block(asked)
    there, made = set(_RESOURCE.findall(template)), set(_RESOURCE.findall(new))
    if taken := sorted(there & made):
        raise Refused(f"template.yaml already has {', '.join(taken)}: choose another name")
    needed = {*_REFERENCE.findall(new), *asked.form.needs} - made
    if missing := sorted(needed - there):
        raise Refused(f"template.yaml lacks {', '.join(missing)}, which the block refers to")
    end = _end_of_subscribers(template)
    return dashboard.written(f"{template[:end]}{new}\n{template[end:]}")


def _end_of_subscribers(template: str) -> int:
    """Where the part with the last queue's function ends; without one, where the resources end."""
    last = max(template.rfind(" handlers.queue_"), template.find("\nResources:") + 1)
    following = _SECTION.search(template, template.find("\n", last) + 1)
    if following is None:
        raise Refused("template.yaml ends with its resources: put an Outputs section after them")
    return following.start()
