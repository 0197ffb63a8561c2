"""`python -m infra.adopt NAME`: from clone to own business. It deletes, so it shows, counts and asks."""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

from infra.adopt.example import Example
from infra.adopt.plan import Plan, plan

ROOT = Path(__file__).parents[2]
GIT_STATUS = ("git", "status", "--porcelain")
NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
MAX_NAME_CHARACTERS = 24
"""A queue's name has at most 80, and holds the stack's, its stage's, a subscriber's and `-dead-letters.fifo`:
docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_CreateQueue.html"""


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    """Returns the exit code: 1 when it was refused or called off."""
    parsed = _parser().parse_args(arguments)
    if refusal := _refusal(parsed.name, root):
        print(refusal, file=sys.stderr)
        return 1
    wanted = plan(Example(root), parsed.name)
    _show(wanted)
    if parsed.dry_run:
        print("Nothing was changed.")
        return 0
    if not (parsed.yes or _is_agreed(wanted)):
        print("Called off: nothing was changed.")
        return 1
    wanted.carry_out()
    # The API's and the events' documents are written from the code, which is another now.
    subprocess.run([sys.executable, "-m", "infra.contracts"], cwd=root, check=True)
    print(f"{parsed.name}: the engine without the example. Now: make test check, and on with docs/adopt.md.")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m infra.adopt",
        description="Delete the example shop, and give project and stack another name.",
        epilog="example: python -m infra.adopt parcels --dry-run",
    )
    parser.add_argument("name", help="of project and stack: lower-case letters, digits, hyphens")
    parser.add_argument(
        "--dry-run", action="store_true", help="show what would be changed, and change nothing"
    )
    parser.add_argument("--yes", "-y", action="store_true", help="do not ask")
    return parser


def _refusal(name: str, root: Path) -> str | None:
    if not NAME.fullmatch(name) or len(name) > MAX_NAME_CHARACTERS:
        return f"{name!r} is no name: up to {MAX_NAME_CHARACTERS} lower-case letters, digits and hyphens"
    status = subprocess.run(GIT_STATUS, cwd=root, capture_output=True, text=True, check=False)
    if status.returncode:
        return f"{root} is no git repository: what is deleted could not be had back"
    if status.stdout:
        return "there are changes that are not committed: commit or stash them, so that all can be had back"
    return None


def _show(wanted: Plan) -> None:
    for path in wanted.deleted:
        why = wanted.reasons.get(path)
        print(f"delete {path}" + (f"  ({why})" if why else ""))
    for path in wanted.written:
        print(f"change {path}")
    print(f"{len(wanted.deleted)} files go, {len(wanted.written)} are changed; git has them all.")


def _is_agreed(wanted: Plan) -> bool:
    return input(f"Delete {len(wanted.deleted)} files? [y/N] ").strip().lower() in ("y", "yes")


if __name__ == "__main__":
    sys.exit(main())
