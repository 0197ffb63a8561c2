"""Check template.yaml against the house rules, and what is exported from code against the code."""

from __future__ import annotations

import sys
from pathlib import Path

from infra import events, requirements
from infra.checks.rules import RULES, findings
from infra.checks.template import Template

TEMPLATE = Path(__file__).parent.parent.parent / "template.yaml"


def main() -> int:
    problems = [
        f"{found.resource}: {found.problem} [{rule}]" for rule, found in findings(Template.load(TEMPLATE))
    ]
    problems += [f"{path}: differs from pyproject.toml: make requirements" for path in requirements.stale()]
    problems += events.problems(events.event_types())
    print("\n".join(problems) or f"template.yaml keeps all {len(RULES)} house rules")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
