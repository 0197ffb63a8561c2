"""`python -m infra.fuzz`: schemathesis against the local run. Exit code 0: enough cases, and no failure.

With `--prove`, faults are planted one after the other instead, and each must be found.
"""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from handlers.postroom.aws.deployment import Deployment
from handlers.postroom.aws.tables import DynamoStore
from infra.fuzz.asking import Asking
from infra.fuzz.counted import FuzzedRun
from infra.fuzz.plants import PLANTS
from infra.fuzz.settings import CALLERS

SEED = 20261130
EXAMPLES = 5
ENOUGH_CASES = 1_000


def main() -> int:
    parsed, more = _arguments()
    logging.disable(logging.CRITICAL)
    with _open_shop() as run:
        asking = Asking(parsed.schemathesis.absolute(), run, parsed.seed, parsed.examples, more)
        return _prove(asking) if parsed.prove else _fuzz(asking, parsed.enough)


@contextmanager
def _open_shop() -> Iterator[FuzzedRun]:
    run = FuzzedRun()
    run.start()
    try:
        if find_spec("infra.fuzz.furniture"):
            import_module("infra.fuzz.furniture").furnish(_store(run), CALLERS)
        yield run
    finally:
        run.stop()


def _store(run: FuzzedRun) -> DynamoStore:
    tables = {"SHOP_TABLE": run.stack.ref("ShopTable"), "JOBS_TABLE": run.stack.ref("JobsTable")}
    return DynamoStore(Deployment(tables, run.aws.session()))


def _fuzz(asking: Asking, enough: int) -> int:
    outcomes = [asking.ask(caller) for caller in CALLERS]
    cases = sum(each.cases for each in outcomes)
    failures = [name for each in outcomes for name in each.failures]
    told = ", ".join(failures) or "no failure"
    print("\n".join([*asking.run.tally(), f"{cases} cases by {len(CALLERS)} callers: {told}"]))
    return max(each.code for each in outcomes) or (0 if cases >= enough else 1)


def _prove(asking: Asking) -> int:
    missed = 0
    for plant in PLANTS:
        asking.run.fault = plant.fault
        outcome = asking.ask(CALLERS[0], plant.paths, quiet=True)
        is_found = outcome.code != 0 and plant.found_as in outcome.failures
        missed += not is_found
        told = "found" if is_found else f"MISSED: {outcome.failures}"
        print(f"{plant.name:<24} {plant.found_as:<34} {told}, {outcome.cases} cases", flush=True)
    print(f"{len(PLANTS) - missed} of {len(PLANTS)} planted faults found")
    return 1 if missed else 0


def _arguments() -> tuple[argparse.Namespace, Sequence[str]]:
    """What else is given is schemathesis's."""
    parser = argparse.ArgumentParser(prog="python -m infra.fuzz")
    parser.add_argument("schemathesis", type=Path, help="the program, in its own environment")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--examples", type=int, default=EXAMPLES, help="at most, for each route and phase")
    parser.add_argument("--enough", type=int, default=ENOUGH_CASES, help="fewer cases are a failure")
    parser.add_argument("--prove", action="store_true", help="plant faults, each of which must be found")
    return parser.parse_known_args()


if __name__ == "__main__":
    sys.exit(main())
