"""`make rie`: every built function, called under AWS's Runtime Interface Emulator.

Exits 0 only when each was called and all answered right.
"""

from __future__ import annotations

import argparse
import logging
import os
import signal
import sys
from pathlib import Path

from rich.console import Console

from infra.local.local_run import LocalRun, RunOptions
from infra.local.story import NotAsToldError, Telling
from infra.local.waiting import wait_for
from infra.machine import architecture
from infra.rie.emulator import Runtime
from infra.rie.tour import PATIENCE_SECONDS, Tour
from infra.rie.workshop import Workshop

RAPID = "lib/python*/site-packages/samcli/local/rapid"
"""Where the SAM CLI keeps the emulator, in its venv."""


def main() -> int:
    arguments = _arguments()
    story = Telling(Console())
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    logging.disable(logging.CRITICAL)
    runtime = Runtime(_emulator(arguments.sam_venv), arguments.interpreter)
    workshop = Workshop(arguments.build, runtime, arguments.build.parent / "rie")
    story.console.print("Each function as it was built, under AWS's Runtime Interface Emulator.")
    try:
        _call_all(story, workshop)
    except KeyboardInterrupt:
        story.console.print("\nInterrupted: everything that was started is ended.")
        return 130
    except (NotAsToldError, OSError) as error:
        story.console.print(f"\n[red]Not as it should be:[/red] {error}")
        _judge(story, workshop)
        return 1
    return 0 if _judge(story, workshop) else 1


def _call_all(story: Telling, workshop: Workshop) -> None:
    run = LocalRun(RunOptions(observers=[workshop.observe], concurrency=1))
    run.use(workshop.runners(run))
    run.start()
    try:
        Tour(story, run).go()
        functions = run.stack.functions
        wait_for(lambda: workshop.has_called(functions), PATIENCE_SECONDS, "every function is called")
    finally:
        run.stop()


def _judge(story: Telling, workshop: Workshop) -> bool:
    """Tell of each function. Returns whether all have answered right."""
    story.chapter("Each function")
    verdicts = list(workshop.verdicts())
    for name, calls, problem in verdicts:
        mark = "[red]✗[/red]" if problem else "[green]✓[/green]"
        story.console.print(f"  {mark} {name:<24} {calls}  {problem or ''}", highlight=False, soft_wrap=True)
    right = sum(problem is None for _, _, problem in verdicts)
    story.console.print(f"\n{right} of {len(verdicts)} answer right. Their first events: {workshop.record()}")
    return right == len(verdicts)


def _emulator(sam_venv: Path) -> Path:
    name = f"aws-lambda-rie-{architecture()}"
    return next(path for path in sam_venv.glob(f"{RAPID}/{name}"))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m infra.rie", description=__doc__)
    parser.add_argument("build", type=_absolute, help="what was built for this machine's architecture")
    parser.add_argument("interpreter", type=_absolute, help="the functions' Python, with awslambdaric")
    parser.add_argument("sam_venv", type=_absolute, help="the SAM CLI's venv")
    return parser.parse_args()


def _absolute(path: str) -> Path:
    return Path(os.path.abspath(path))


if __name__ == "__main__":
    sys.exit(main())
