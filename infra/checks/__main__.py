"""Check template.yaml against the house rules, and what is exported from code against the code."""

from __future__ import annotations

import sys

from infra import events, requirements
from infra.checks.rules import RULES, findings, page
from infra.checks.template import SHIPPED, Template
from infra.contracts import files as contracts
from infra.expand import TemplateError


def main() -> int:
    try:
        template = Template.load(SHIPPED)
    except TemplateError as error:
        print(f"template.yaml: {error}")
        return 1
    problems = [
        f"{found.resource}: {found.problem} [{rule}, {page(rule)}]" for rule, found in findings(template)
    ]
    problems += [f"{path}: differs from pyproject.toml: make requirements" for path in requirements.stale()]
    problems += events.problems(events.event_types())
    problems += contracts.problems(template)
    print("\n".join(problems) or f"template.yaml keeps all {len(RULES)} house rules")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
