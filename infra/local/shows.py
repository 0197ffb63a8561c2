"""`python -m infra.local.shows`: the example business at work on this machine, watched and measured."""

from __future__ import annotations

import argparse
import sys

from infra.local import command

EXAMPLES = """examples:
  python -m infra.local.shows demo                  an order, an outage, a poison message and a duplicate
  python -m infra.local.shows load --orders 1000    orders per second, with real and with stub providers
  python -m infra.local.shows chaos --orders 200    kill functions again and again, and count what came of it
  python -m infra.local.shows outage                3,000 receipts and an hour without mail
  python -m infra.local.shows bill --orders 10      what ten orders cost that come in together
  python -m infra.local.shows blast --recipients 500  a campaign, with password resets among it
"""


def main(arguments: list[str] | None = None) -> int:
    """Run one of them. Returns the exit code."""
    return command.run(_parser(), arguments)


def _parser() -> argparse.ArgumentParser:
    parser = command.parser(
        "python -m infra.local.shows", "Watch or measure the example business on the local run.", EXAMPLES
    )
    commands = parser.add_subparsers(
        title="commands", required=True, metavar="demo | load | chaos | outage | bill | blast"
    )
    demo = commands.add_parser(
        "demo", help="watch the story by itself; exits 1 when a step is not as it should be"
    )
    demo.set_defaults(run=_demo)
    load = commands.add_parser("load", help="orders from concurrent clients: rate, losses, doubles, memory")
    load.add_argument(
        "--orders", type=command.whole(1), default=5000, help="orders in each run (default %(default)s)"
    )
    load.add_argument(
        "--clients", type=command.whole(1), default=8, help="clients at once (default %(default)s)"
    )
    load.set_defaults(run=_load)
    chaos = commands.add_parser("chaos", help="kill isolated functions while orders are in flight")
    chaos.add_argument(
        "--orders", type=command.whole(1), default=200, help="orders in flight (default %(default)s)"
    )
    chaos.set_defaults(run=_chaos)
    outage = commands.add_parser("outage", help="receipts that pile up in an outage, with jitter and without")
    outage.add_argument(
        "--orders", type=command.whole(1), default=3000, help="orders in it (default %(default)s)"
    )
    outage.set_defaults(run=_outage)
    bill = commands.add_parser("bill", help="what an order costs: AWS calls and request units, step by step")
    bill.add_argument(
        "--orders", type=command.whole(1), default=1, help="orders placed at once (default %(default)s)"
    )
    bill.set_defaults(run=_bill)
    blast = commands.add_parser("blast", help="a campaign to very many, and how long others wait meanwhile")
    blast.add_argument(
        "--recipients", type=command.whole(1), default=50_000, help="of the campaign (default %(default)s)"
    )
    blast.set_defaults(run=_blast)
    return parser


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
