"""Write docs/openapi.yaml and docs/asyncapi.yaml from the template and the code."""

from __future__ import annotations

import sys

from infra.checks.template import SHIPPED, Template
from infra.contracts import files


def main() -> int:
    template = Template.load(SHIPPED)
    for path in files.write(template):
        print(f"{path}: written")
    left = list(files.problems(template))
    print("\n".join(left) or "the contracts say what the code says")
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
