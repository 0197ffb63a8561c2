"""Changes to the repository's files: shown as a diff, made all together, and never over anything."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from handlers.postroom.discovery import job_types
from infra.ops.core.errors import Refused
from infra.ops.core.imported import imported
from infra.scaffold.asked import asked_for, event_sources
from infra.scaffold.block import with_block
from infra.scaffold.code import first_test, handler_file
from infra.scaffold.kinds import Kind

ROOT = Path(__file__).parents[2]
TESTS = "tests/unit/subscribers"


@dataclass(frozen=True, slots=True)
class Change:
    """One file, relative to the root. `before` is None for a new one."""

    path: Path
    before: str | None
    after: str

    def diff(self) -> str:
        """Unified, as `patch -p1` takes it."""
        old = "/dev/null" if self.before is None else f"a/{self.path}"
        lines = difflib.unified_diff(
            (self.before or "").splitlines(keepends=True),
            self.after.splitlines(keepends=True),
            old,
            f"b/{self.path}",
        )
        return "".join(lines)

    def make(self, root: Path) -> None:
        path = root / self.path
        if self.before is None:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("x", encoding="utf-8") as file:
                file.write(self.after)
        else:
            path.write_text(self.after, encoding="utf-8")


def new_subscriber(name: str, on: str, kind: Kind, since: date, root: Path = ROOT) -> Sequence[Change]:
    """What a new subscriber changes, the template last. Raises `Refused` when it cannot be had."""
    if not (root / "template.yaml").is_file():
        raise Refused(f"there is no template.yaml in {root}: use the command of your clone's own .venv")
    with imported():
        sources, taken = event_sources(), {each.subscriber for each in job_types("handlers")}
    asked = asked_for(name, on, kind, since, sources)
    handler, test = Path("handlers", f"{asked.module}.py"), Path(TESTS, f"{asked.test_module}.py")
    for path in (handler, test):
        if (root / path).exists():
            raise Refused(f"{path} is there already: nothing is written over")
    if name in taken:
        raise Refused(f"there is a subscriber {name} already")
    template = (root / "template.yaml").read_text(encoding="utf-8")
    return [
        Change(handler, None, handler_file(asked)),
        Change(test, None, first_test(asked)),
        Change(Path("template.yaml"), template, with_block(template, asked)),
    ]
