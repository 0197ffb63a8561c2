"""`chaos`: functions in processes of their own are killed while orders are in flight. Nothing may be lost.

First with SIGKILL: what was at work is redelivered when its visibility timeout ends. Then with SIGTERM: what
is at work is finished or given back, and comes again at once.
"""

from __future__ import annotations

import logging
import os
import random
import signal
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console

from infra.expand import read_template
from infra.local.load import EFFECTS, place
from infra.local.local_run import LocalRun, RunOptions
from infra.local.shop_facts import Facts
from infra.local.waiting import wait_for

VISIBILITY_SECONDS = 4
"""Short, so that what a killed process held comes back soon; the template's own is six function timeouts.

A process that is only slow keeps what it holds, by the run's heartbeat.
"""
PATIENCE_SECONDS = 600.0
QUEUE = "AWS::SQS::Queue"
CLIENTS = 8


@dataclass(frozen=True)
class Damage:
    """What came of a run. `repeats` are mails that came over the wire more than once."""

    orders: int
    signals: int
    accepted: int
    effects: dict[str, int]
    repeats: int
    seconds: float

    @property
    def is_harmless(self) -> bool:
        each_once = all(self.effects[name] == self.orders for name in EFFECTS)
        return each_once and self.accepted == self.orders and self.repeats <= self.signals


@dataclass
class Killer:
    """Sends a signal to a function's process, again and again, until it is stopped."""

    pids: Callable[[], Sequence[int]]
    signal: signal.Signals
    pause: float
    random: random.Random
    sent: int = 0

    def __post_init__(self) -> None:
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Killer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._ended.wait(self.pause):
            pids = self.pids()
            if pids:
                self._send(self.random.choice(pids))

    def _send(self, pid: int) -> None:
        try:
            os.kill(pid, self.signal)
        except ProcessLookupError:
            return
        self.sent += 1


def chaos(orders: int) -> int:
    """Do both. Returns 1 when an order is lost, an effect doubled, or a mail repeated without a kill."""
    logging.disable(logging.CRITICAL)
    console = Console()
    killed = strike(orders, signal.SIGKILL, pause=0.5)
    console.print(_told("SIGKILL", killed), highlight=False, soft_wrap=True)
    stopped = strike(orders, signal.SIGTERM, pause=0.5)
    console.print(_told("SIGTERM", stopped), highlight=False, soft_wrap=True)
    return 0 if killed.is_harmless and stopped.is_harmless and not stopped.repeats else 1


def strike(orders: int, number: signal.Signals, *, pause: float, seed: int = 0) -> Damage:
    """Place orders while a function's process gets the signal every `pause` seconds, until all is done."""
    run = LocalRun(RunOptions(isolated=True, heartbeat=True, seed=seed, changes=_short_visibility()))
    run.start()
    begun = time.monotonic()
    try:
        killer = Killer(run.pids, number, pause, random.Random(seed))  # noqa: S311 (repeatable, not secret)
        with killer:
            report = place(run, orders, CLIENTS)
        return _damage(run, orders, killer.sent, report, begun)
    finally:
        run.stop()


def _damage(run: LocalRun, orders: int, signals: int, report: dict[str, Any], begun: float) -> Damage:
    facts = Facts(run)
    wait_for(lambda: not facts.is_work_left(), PATIENCE_SECONDS, "all queues empty", pause=0.2)
    mails = len(run.mailbox.mails)
    return Damage(
        orders=orders,
        signals=signals,
        accepted=len(set(report["locations"])),
        effects=dict(facts.effects()),
        repeats=run.mailbox.arrivals - mails,
        seconds=time.monotonic() - begun,
    )


def _short_visibility() -> dict[str, dict[str, Any]]:
    resources = read_template(RunOptions.template)["Resources"]
    queues = {name: body.get("Properties", {}) for name, body in resources.items() if body["Type"] == QUEUE}
    return {
        name: {"VisibilityTimeout": VISIBILITY_SECONDS}
        for name, properties in queues.items()
        if "RedrivePolicy" in properties
    }


def _told(name: str, damage: Damage) -> str:
    effects = ", ".join(f"{damage.effects[effect]} {effect}" for effect in EFFECTS)
    return (
        f"{damage.signals} x {name}: {damage.accepted} of {damage.orders} orders accepted; {effects}; "
        f"{damage.repeats} mails repeated; {damage.seconds:.0f} s"
    )
