"""`make deploy-local`: exits 0 only when everything in the story was seen."""

from __future__ import annotations

import argparse
import logging
import os
import signal
import sys
import tempfile
from pathlib import Path

from rich.console import Console

from infra.build import ARTEFACTS
from infra.deploy_local.ministack import NotReady, running
from infra.deploy_local.not_shown import NOT_SHOWN
from infra.deploy_local.providers import providers
from infra.deploy_local.rehearsal import Rehearsal
from infra.deploy_local.stack import Stack
from infra.deploy_local.workspace import Workspace
from infra.interpreters import NoInterpreter
from infra.local.story import NotAsToldError, Telling
from infra.machine import architecture
from infra.processes import CommandFailed

STACK_NAME = "postroom-rehearsal"
LOGS = ARTEFACTS.parent / "deploy-local"


def main() -> int:
    arguments = _arguments()
    story = Telling(Console())
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    logging.disable(logging.CRITICAL)
    story.console.print("sam deploy, rehearsed: MiniStack in place of AWS, our functions built as they ship.")
    try:
        _rehearse(story, arguments)
    except (NotAsToldError, OSError, CommandFailed, NotReady, NoInterpreter) as error:
        story.console.print(f"\n[red]Not as it should be:[/red] {error}", markup=True)
        story.console.print(f"Logs: {LOGS}")
        return 1
    except KeyboardInterrupt:
        story.console.print("\nInterrupted: everything that was started is ended.")
        return 130
    story.console.print("\n[green]All as it should be.[/green] What MiniStack does not show, and what does:")
    for what, command in NOT_SHOWN:
        story.console.print(f"  · {what}\n      {command}", highlight=False, soft_wrap=True)
    return 0


def _rehearse(story: Telling, arguments: argparse.Namespace) -> None:
    LOGS.mkdir(parents=True, exist_ok=True)
    for log in LOGS.glob("*.log"):
        log.unlink()
    with tempfile.TemporaryDirectory(prefix="postroom-") as name:
        place = Path(name)
        workspace = Workspace.make(place / "copy", LOGS / "build.log")
        with providers() as shop, running(arguments.ministack, place, LOGS / "ministack.log") as ministack:
            story.tell(f"MiniStack listens on {ministack.url} (process {ministack.process})")
            stack = Stack(STACK_NAME, ministack, arguments.sam, workspace.path, LOGS / "sam.log")
            Rehearsal(story, workspace, ministack, shop, stack, architecture()).run()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m infra.deploy_local", description=__doc__)
    parser.add_argument("ministack", type=_absolute, help="MiniStack's executable")
    parser.add_argument("sam", type=_absolute, help="the SAM CLI's executable")
    return parser.parse_args()


def _absolute(path: str) -> Path:
    return Path(os.path.abspath(path))


if __name__ == "__main__":
    sys.exit(main())
