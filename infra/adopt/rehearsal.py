"""`make adopt-check`: what docs/adopt.md says, done in a copy of this repository.

The copy is adopted under a new name, gets the parcel service of docs/examples/adopt in place of the shop, and
has to pass its own tests and checks. Exits 0 only when all of that was seen.
"""

from __future__ import annotations

import argparse
import logging
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from infra.adopt.deployed import deploy
from infra.deploy_local.ministack import NotReady
from infra.local.story import NotAsToldError
from infra.processes import CommandFailed

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "docs" / "examples" / "adopt"
NAME, SUBSCRIBER, EVENT = "parcels", "notices", "parcel.sent"
NEW = ("new", "subscriber", SUBSCRIBER, "--on", EVENT, "--since", "2026-11-30")
ENGINE = "handlers/postroom"
PYTEST = ("-m", "pytest", "-q", "-p", "no:cacheprovider")
TESTS = ("tests/path/test_parcels.py", f"tests/unit/subscribers/test_{SUBSCRIBER}.py")
BLOCK, BLOCK_STANDS_BEFORE = "parcels.yaml", "  # ---- The tables"
VENVS = (".venv", ".venv-sam", ".venv-scan")
"""Environments that the copy borrows, from beside the one that runs this."""
STAMPS = ("dev", "local")
"""What make would install again, because pyproject.toml has changed: into our own environment."""
_COUNTED = re.compile(r"^(\d+ files go.*|.*\b\d+ passed.*|.* keeps all .*|Success: .*)$", re.MULTILINE)


class Failed(Exception):
    """A step that did not end well; the message holds what it printed last."""


@dataclass(frozen=True)
class Copy:
    """A clone in which the commands are run. What they print is shown only when they fail, but for counts."""

    path: Path
    started: float = field(default_factory=time.monotonic)

    @classmethod
    def make(cls, path: Path) -> Copy:
        """All that git tracks or would track, committed, and our environments."""
        listed = _output("git", "ls-files", "--cached", "--others", "--exclude-standard", cwd=ROOT)
        for name in filter(lambda name: (ROOT / name).is_file(), listed.splitlines()):
            (path / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, path / name)
        for venv in VENVS:
            if (ours := Path(sys.prefix).with_name(venv)).is_dir():
                (path / venv).symlink_to(ours)
        copy = cls(path)
        copy.commit("A clone")
        return copy

    def step(self, what: str, *command: str) -> None:
        """Run a command, and tell that it went well. Raises `Failed`."""
        environ = {**os.environ, "PYTHONPATH": str(self.path), "PYTHONDONTWRITEBYTECODE": "1"}
        ran = subprocess.run(
            command, cwd=self.path, env=environ, stdin=subprocess.DEVNULL, capture_output=True, text=True
        )
        if ran.returncode:
            raise Failed(f"{what}: {' '.join(command)}\n{(ran.stdout + ran.stderr)[-6000:]}")
        self.tell(what, _COUNTED.findall(ran.stdout))

    def python(self, what: str, *arguments: str) -> None:
        self.step(what, sys.executable, *arguments)

    def make_target(self, target: str) -> None:
        kept = [option for stamp in STAMPS for option in ("-o", f".venv/{stamp}")]
        self.step(f"make {target}", "make", *kept, target)

    def commit(self, message: str) -> None:
        if not (self.path / ".git").exists():
            _output("git", "init", "--quiet", cwd=self.path)
        author = ("-c", "user.name=Adopter", "-c", "user.email=adopter@example.com")
        _output("git", "add", "--all", cwd=self.path)
        _output("git", *author, "commit", "--quiet", "--message", message, cwd=self.path)

    def tell(self, what: str, counts: Sequence[str] = ()) -> None:
        seconds = time.monotonic() - self.started
        print(
            f"{seconds:6.1f} s  ✓ {what}" + "".join(f"\n            {each.strip()}" for each in counts),
            flush=True,
        )


def rehearse(copy: Copy, *, quick: bool) -> None:
    """Do what docs/adopt.md says; `quick` leaves out the long steps. Raises `Failed` when one fails."""
    copy.python(f"the example deleted, the project named {NAME}", "-m", "infra.adopt", NAME, "--yes")
    copy.commit("The engine alone")
    copy.python("the engine alone keeps the house rules", "-m", "infra.checks")
    _write_the_example(copy)
    copy.tell("POST /parcels written: model, event, entry, template block")
    copy.python(f"postroom {' '.join(NEW)}: function, queue, dead-letter queue", "-m", "infra.ops.cli", *NEW)
    _give_the_subscriber_its_work(copy)
    copy.python("make events contracts", "-m", "infra.events")
    copy.python("docs/openapi.yaml, docs/asyncapi.yaml", "-m", "infra.contracts")
    copy.python("a parcel is sent, and its notice posted", *PYTEST, *TESTS)
    if not quick:
        _all_of_it(copy)
    _is_as_it_was(copy, ENGINE)


def _all_of_it(copy: Copy) -> None:
    copy.step("sam validate --lint", ".venv-sam/bin/sam", "validate", "--lint", "--region", "eu-west-1")
    copy.make_target("check")
    copy.make_target("test")


def _write_the_example(copy: Copy) -> None:
    for path in sorted(EXAMPLE.rglob("*")):
        relative = path.relative_to(EXAMPLE)
        if path.is_file() and path.name != BLOCK and SUBSCRIBER not in path.name:
            _write(copy.path / relative, path.read_text(encoding="utf-8"))
    template = copy.path / "template.yaml"
    block = (EXAMPLE / BLOCK).read_text(encoding="utf-8")
    before, here, after = template.read_text(encoding="utf-8").partition(BLOCK_STANDS_BEFORE)
    template.write_text(f"{before}{block}{here}{after}", encoding="utf-8")
    copy.python("make dashboard", "-m", "infra.dashboard")


def _give_the_subscriber_its_work(copy: Copy) -> None:
    for path in EXAMPLE.rglob(f"*{SUBSCRIBER}*.py"):
        written = copy.path / path.relative_to(EXAMPLE)
        if not written.is_file():
            raise Failed(f"postroom new subscriber has not written {path.relative_to(EXAMPLE)}")
        _write(written, path.read_text(encoding="utf-8"))
    copy.tell(f"what {SUBSCRIBER} does, said in its function")


def _is_as_it_was(copy: Copy, folder: str) -> None:
    first = _output("git", "rev-list", "--max-parents=0", "HEAD", cwd=copy.path).strip()
    if changed := _output("git", "diff", "--stat", first, "--", folder, cwd=copy.path):
        raise Failed(f"{folder} was edited:\n{changed}")
    copy.tell(f"{folder} is as it was, to the byte")


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _output(*command: str, cwd: Path) -> str:
    return subprocess.run(command, cwd=cwd, check=True, capture_output=True, text=True).stdout


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m infra.adopt.rehearsal", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="without the copy's whole tests and checks")
    parser.add_argument("--ministack", type=Path, help="its executable: the copy is deployed to it, too")
    parsed = parser.parse_args()
    logging.disable()
    with TemporaryDirectory(prefix="adopt-") as folder:
        copy = Copy.make(Path(folder).resolve())
        try:
            rehearse(copy, quick=parsed.quick)
            if parsed.ministack:
                deploy(copy.path, f"{NAME}-rehearsal", parsed.ministack.absolute(), copy.tell)
        except (Failed, CommandFailed, NotReady, NotAsToldError, TimeoutError) as failure:
            print(failure, file=sys.stderr)
            return 1
    print("Adopted: the parcel service runs on the engine, which was not edited.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
