"""Every house rule, and how they are applied."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from infra.checks import (
    alarms,
    logs,
    mappings,
    naming,
    ordering,
    queues,
    requests,
    roles,
    senders,
    snapshots,
    storage,
    subscriptions,
    watching,
)
from infra.checks.template import Finding, Template

Rule = Callable[[Template], Iterator[Finding]]
RULES: tuple[Rule, ...] = (
    *requests.RULES,
    *mappings.RULES,
    *queues.RULES,
    *senders.RULES,
    *subscriptions.RULES,
    *ordering.RULES,
    *snapshots.RULES,
    *roles.RULES,
    *storage.RULES,
    *logs.RULES,
    *naming.RULES,
    *alarms.RULES,
    *watching.RULES,
)


_BY_NAME = {rule.__name__: rule for rule in RULES}


def is_broken(rule: str, template: Template) -> bool:
    """Whether the rule of that name finds anything."""
    return any(_BY_NAME[rule](template))


def page(rule: str) -> str:
    """Where AWS documents what the rule of that name rests on."""
    pages = re.findall(r"docs\.aws\.amazon\.com/[\w./#-]+", _BY_NAME[rule].__doc__ or "")
    return str(pages[-1])


def findings(template: Template) -> Iterator[tuple[str, Finding]]:
    """Yield the name of each broken rule with what it found."""
    for rule in RULES:
        for finding in rule(template):
            yield rule.__name__, finding
