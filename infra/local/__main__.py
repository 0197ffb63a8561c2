"""`python -m infra.local`: run the template on this machine."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from infra.local.intrinsics import TemplateError
from infra.local.local_run import ROOT, RunOptions
from infra.local.servers import PortTakenError

DEFAULT_PORT = 8700
EXAMPLES = """examples:
  python -m infra.local up                      everything in this process; breakpoints work, code reloads
  python -m infra.local up --isolated           each function in processes of its own, as on Lambda
  python -m infra.local up --port 9000          the API on 9000; AWS, cards and mail on 9001 to 9003
  python -m infra.local demo                    an order, an outage, a poison message and a duplicate
  python -m infra.local load --orders 1000      orders per second, with real and with stub providers
  python -m infra.local chaos --orders 200      kill functions again and again, and count what came of it
  python -m infra.local outage                  3,000 receipts and a mail provider that is down for an hour
  python -m infra.local bill --orders 10        what ten orders cost that come in together
  python -m infra.local blast --recipients 500  a campaign, with orders placed among it
"""


def main(arguments: list[str] | None = None) -> int:
    """Run one command. Returns the exit code."""
    parsed = _parser().parse_args(arguments)
    try:
        return int(parsed.run(parsed))
    except PortTakenError as error:
        sys.stderr.write(f"{error.strerror}\n")
    except TemplateError as error:
        sys.stderr.write(f"the template: {error}\n")
    return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m infra.local",
        description="Run template.yaml on this machine, on a model of AWS in memory.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(
        title="commands", required=True, metavar="up | demo | load | chaos | outage | bill | blast"
    )
    _add_up(commands)
    demo = commands.add_parser(
        "demo", help="watch the story by itself; exits 1 when a step is not as it should be"
    )
    demo.set_defaults(run=_demo)
    load = commands.add_parser("load", help="orders from concurrent clients: rate, losses, doubles, memory")
    load.add_argument("--orders", type=int, default=5000, help="orders in each run (default %(default)s)")
    load.add_argument("--clients", type=int, default=8, help="clients at once (default %(default)s)")
    load.set_defaults(run=_load)
    chaos = commands.add_parser("chaos", help="kill isolated functions while orders are in flight")
    chaos.add_argument("--orders", type=int, default=200, help="orders in flight (default %(default)s)")
    chaos.set_defaults(run=_chaos)
    outage = commands.add_parser("outage", help="receipts that pile up in an outage, with jitter and without")
    outage.add_argument("--orders", type=int, default=3000, help="orders in it (default %(default)s)")
    outage.set_defaults(run=_outage)
    bill = commands.add_parser("bill", help="what an order costs: AWS calls and request units, step by step")
    bill.add_argument("--orders", type=int, default=1, help="orders placed at once (default %(default)s)")
    bill.set_defaults(run=_bill)
    blast = commands.add_parser("blast", help="a campaign to very many, and how long others wait meanwhile")
    blast.add_argument("--recipients", type=int, default=50_000, help="of the campaign (default %(default)s)")
    blast.set_defaults(run=_blast)
    return parser


def _add_up(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    up = commands.add_parser("up", help="bring everything up until Ctrl-C")
    up.add_argument("--port", type=int, default=DEFAULT_PORT, help="of the API; the next three are taken too")
    up.add_argument("--isolated", action="store_true", help="each function in processes of its own")
    up.add_argument(
        "--concurrency",
        type=int,
        default=2,
        help="batches of each queue in work at once (default %(default)s)",
    )
    up.add_argument("--seed", type=int, default=0, help="of everything random in the model (default 0)")
    up.add_argument("--no-reload", action="store_true", help="leave code as it is when its files change")
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
    )
    return up(options, reload=not parsed.no_reload)


def _demo(_parsed: argparse.Namespace) -> int:
    from infra.local.demo import demo

    return demo()


def _load(parsed: argparse.Namespace) -> int:
    from infra.local.load import load

    return load(parsed.orders, parsed.clients)


def _chaos(parsed: argparse.Namespace) -> int:
    from infra.local.chaos import chaos

    return chaos(parsed.orders)


def _outage(parsed: argparse.Namespace) -> int:
    from infra.local.outage import outage

    return outage(parsed.orders)


def _blast(parsed: argparse.Namespace) -> int:
    from infra.local.blast import blast

    return blast(parsed.recipients)


def _bill(parsed: argparse.Namespace) -> int:
    from infra.local.bill import bill

    return bill(parsed.orders)


if __name__ == "__main__":
    sys.exit(main())
