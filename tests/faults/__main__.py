"""`make faults`: which calls there are, what was tried at each, and what came of it. Exit 1 if not well."""

import sys
import time

from infra.testkit.faults import EVERYWHERE, PARTIAL_ANSWER
from tests.faults.report import Report, by_function, sweep
from tests.faults.scenarios import SCENARIOS

SHOWN_VIOLATIONS = 20
TOLD_EVERY = 500
FAULTS = [fault.name for fault in (*EVERYWHERE, PARTIAL_ANSWER)]


def main() -> int:
    started = time.monotonic()
    names = sys.argv[1:] or list(SCENARIOS)
    report = sweep(names, tell)
    show(report, time.monotonic() - started)
    return 0 if report.is_good else 1


def tell(done: int, of: int) -> None:
    if done % TOLD_EVERY == 0:
        print(f"{done} of {of} replays", file=sys.stderr, flush=True)


def show(report: Report, seconds: float) -> None:
    _show_sites(report)
    _show_conditions(report)
    _show_findings(report)
    _show_violations(report)
    faults = sum(sum(counts.values()) for counts in report.tried.values())
    print(
        f"\nsites {len(report.tried)}   faults tried {faults}   replays {report.replays.total()}   "
        f"violations {sum(len(outcome.violations) for _, outcome in report.broken)}   "
        f"planted bugs found {report.found}/{len(report.findings)}   {seconds:.0f} s"
    )


def _show_sites(report: Report) -> None:
    print("How often each fault was tried at each call:\n")
    for number, name in enumerate(FAULTS):
        print(f"  {' ' * 5 * number}{name}")
    for function, sites in by_function(report.tried).items():
        print(f"\n{function}")
        for site in sites:
            counts = report.tried[site]
            cells = "".join(f"{counts[name] or '-':>5}" for name in FAULTS)
            print(f"{cells}   {site.target}.{site.operation} from {site.place}")


def _show_conditions(report: Report) -> None:
    print("\nReplays under each condition:")
    for name, count in report.conditions.items():
        print(f"{count:>7}   {name}")
    print("\nReplays of each scenario:")
    for name, count in report.replays.items():
        print(f"{count:>7}   {name}")


def _show_findings(report: Report) -> None:
    print("\nPlanted bugs, and the first invariant that each was seen to break:")
    for finding in report.findings:
        if finding.first is None:
            print(f"  NOT FOUND in {finding.replays} replays: {finding.bug}")
        else:
            print(f"  {finding.bug}\n      [{finding.first.violations[0].invariant}] {finding.first.trial}")


def _show_violations(report: Report) -> None:
    for action in report.not_reached:
        print(f"\nNOT REACHED  {action}")
    for scenario, outcome in report.broken[:SHOWN_VIOLATIONS]:
        print(f"\nVIOLATION in {scenario!r}, {outcome.trial}")
        for violation in outcome.violations:
            print(f"    {violation}")
    if len(report.broken) > SHOWN_VIOLATIONS:
        print(f"\n... and {len(report.broken) - SHOWN_VIOLATIONS} more replays")


if __name__ == "__main__":
    sys.exit(main())
