"""`load`: orders from concurrent clients through the local run, and what came of each of them."""

from __future__ import annotations

import gc
import json
import logging
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console

from infra.local.local_run import ROOT, LocalRun, RunOptions
from infra.local.shop_facts import Facts
from infra.local.stubs import StubCards, StubMailer, stub_runner
from infra.local.waiting import wait_for

PATIENCE_SECONDS = 300.0
COLLECT = (50_000, 20, 100)
"""The run keeps what it makes: looking through all of it for garbage every so often is time for nothing."""
EFFECTS = ("orders", "picks", "credits", "mails", "invoices", "charges")


@dataclass(frozen=True)
class Outcome:
    """One run. Times are in seconds (`processor`: used by this process), `memory` in MB at its peak."""

    orders: int
    accepting: float
    completing: float
    latencies: Sequence[float]
    effects: dict[str, int]
    arrivals: int
    memory: float
    processor: float = 0.0

    @property
    def lost(self) -> int:
        return sum(max(0, self.orders - self.effects[name]) for name in EFFECTS)

    @property
    def doubled(self) -> int:
        extra = sum(max(0, self.effects[name] - self.orders) for name in EFFECTS)
        return extra + self.arrivals - self.effects["mails"]


def load(orders: int, clients: int) -> int:
    """Measure both kinds of providers. Returns 1 when an order is lost or doubled, else 0."""
    logging.disable(logging.WARNING)
    gc.set_threshold(*COLLECT)
    console = Console()
    good = True
    for name in ("real", "stub"):
        outcome = measure(orders, clients, real=name == "real")
        console.print(_told(name, outcome), highlight=False, soft_wrap=True)
        good = good and not outcome.lost and not outcome.doubled
    return 0 if good else 1


def measure(orders: int, clients: int, *, real: bool) -> Outcome:
    """Place the orders and wait for all that follows. Raises `TimeoutError` when something never comes."""
    run = LocalRun(RunOptions())
    if not real:
        run.use(stub_runner(StubMailer(run.mailbox, run.switches["mail"]), StubCards(run.gateway)))
    run.start()
    try:
        return _measured(run, orders, clients)
    finally:
        run.stop()


def _measured(run: LocalRun, orders: int, clients: int) -> Outcome:
    facts = Facts(run)
    begun, processor = time.monotonic(), time.process_time()
    report = place(run, orders, clients)
    wait_for(lambda: not facts.is_work_left(), PATIENCE_SECONDS, "all queues empty", pause=0.2)
    return Outcome(
        orders=orders,
        accepting=report["seconds"],
        completing=time.monotonic() - begun,
        latencies=report["latencies"],
        effects=dict(facts.effects()),
        arrivals=run.mailbox.arrivals,
        memory=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        processor=time.process_time() - processor,
    )


def place(run: LocalRun, orders: int, clients: int) -> dict[str, Any]:
    """Let a crowd place orders. Returns its report. Raises `RuntimeError` when one is refused."""
    command = [sys.executable, "-m", "infra.local.load_client", run.urls.api, run.stack.token("ada")]
    done = subprocess.run(  # noqa: S603 (our own module)
        [*command, str(orders), str(clients)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(done.stderr)
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def _told(name: str, outcome: Outcome) -> str:
    half, most = (
        outcome.latencies[int(share * (len(outcome.latencies) - 1))] * 1000 for share in (0.5, 0.99)
    )
    return (
        f"{name} providers: {outcome.orders} orders, {outcome.lost} lost, {outcome.doubled} doubled. "
        f"{outcome.orders / outcome.completing:.0f} orders/s from first request to last effect "
        f"({outcome.orders / outcome.accepting:.0f}/s accepted), "
        f"checkout {half:.0f} ms median and {most:.0f} ms at 99 %, "
        f"{outcome.processor / outcome.orders * 1000:.1f} ms of processor time an order, "
        f"peak memory {outcome.memory:.0f} MB"
    )
