"""`python -m infra.local`: run the template on this machine."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from infra.local import command
from infra.local.local_run import ROOT, RunOptions

DEFAULT_PORT = 8700
EXAMPLES = """examples:
  python -m infra.local up                      everything in this process; breakpoints work, code reloads
  python -m infra.local up --isolated           each function in processes of its own, as on Lambda
  python -m infra.local up --port 9000          the API on 9000; AWS, cards, mail, webhooks on 9001 to 9004
"""


def main(arguments: list[str] | None = None) -> int:
    """Run one command. Returns the exit code."""
    return command.run(_parser(), arguments)


def _parser() -> argparse.ArgumentParser:
    parser = command.parser(
        "python -m infra.local", "Run template.yaml on this machine, on a model of AWS in memory.", EXAMPLES
    )
    commands = parser.add_subparsers(title="commands", required=True, metavar="up")
    _add_up(commands)
    return parser


def _add_up(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    up = commands.add_parser("up", help="bring everything up until Ctrl-C")
    up.add_argument(
        "--port",
        type=command.whole(0, 65_535 - 4),
        default=DEFAULT_PORT,
        help="of the API; the next four are taken, too. 0: any",
    )
    up.add_argument("--isolated", action="store_true", help="each function in processes of its own")
    up.add_argument(
        "--concurrency",
        type=command.whole(1),
        default=2,
        help="batches of each queue in work at once (default %(default)s)",
    )
    up.add_argument("--seed", type=int, default=0, help="of everything random in the model (default 0)")
    up.add_argument("--no-reload", action="store_true", help="leave code as it is when its files change")
    up.add_argument(
        "--parameter",
        type=command.setting,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="of the template, in place of its default",
    )
    up.add_argument("--template", type=Path, default=ROOT / "template.yaml", help="the SAM template")
    up.set_defaults(run=_up)


def _up(parsed: argparse.Namespace) -> int:
    from infra.local.up import up

    options = RunOptions(
        port=parsed.port,
        isolated=parsed.isolated,
        seed=parsed.seed,
        concurrency=parsed.concurrency,
        template=parsed.template.resolve(),
        parameters=dict(parsed.parameter),
    )
    return up(options, reload=not parsed.no_reload)


if __name__ == "__main__":
    sys.exit(main())
