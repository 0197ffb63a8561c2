"""Small versions of `make load` and of the chaos run: the same measurements, with fewer orders."""

from __future__ import annotations

import signal

import pytest

from infra.local import blast
from infra.local.chaos import strike
from infra.local.demo import demo
from infra.local.load import Outcome, measure
from infra.local.providers.mail import Mail

ORDERS = 120


@pytest.mark.parametrize("real", [True, False], ids=["real-providers", "stub-providers"])
def test_every_order_of_concurrent_clients_completes_once(real: bool) -> None:
    outcome = measure(ORDERS, clients=8, real=real)

    assert (outcome.lost, outcome.doubled) == (0, 0)
    assert set(outcome.effects.values()) == {ORDERS}


@pytest.mark.parametrize(
    ("effects", "arrivals", "lost", "doubled"),
    [({}, 10, 0, 0), ({"picks": 9}, 10, 1, 0), ({"credits": 12}, 10, 0, 2), ({}, 13, 0, 3)],
)
def test_loss_and_doubling_are_counted(
    effects: dict[str, int], arrivals: int, lost: int, doubled: int
) -> None:
    names = ("orders", "picks", "credits", "mails", "invoices", "charges")
    outcome = Outcome(10, 1.0, 2.0, [0.1], {**dict.fromkeys(names, 10), **effects}, arrivals, 100.0)

    assert (outcome.lost, outcome.doubled) == (lost, doubled)


def test_sigkill_of_functions_loses_nothing_and_repeats_no_more_mails_than_kills() -> None:
    damage = strike(40, signal.SIGKILL, pause=0.3)

    assert damage.signals > 0
    assert damage.is_harmless, damage


def test_sigterm_of_functions_loses_nothing_and_repeats_nothing() -> None:
    damage = strike(40, signal.SIGTERM, pause=0.3)

    assert damage.signals > 0
    assert damage.is_harmless, damage
    assert damage.repeats == 0


def test_demo_comes_out_as_it_says() -> None:
    assert demo() == 0


def test_a_campaign_reaches_each_recipient_once_and_nobody_waits_behind_it() -> None:
    outcome = blast.measure(500)

    assert (outcome.lost, outcome.doubled) == (0, 0)
    assert outcome.is_good, blast.told(outcome)
    assert outcome.urgent[-1] < outcome.bulk[-1]


def test_a_lost_and_a_doubled_mail_are_counted() -> None:
    mails = [
        Mail("<1>", ["reader-1@example.com"], b"", [11.0, 12.0]),
        Mail("<2>", ["c@example.com"], b"", [13.0]),
    ]

    outcome = blast.outcome_of(mails, recipients=2, begun=10.0, answered={"c@example.com": 12.5}, steps=1)

    assert (outcome.lost, outcome.doubled, outcome.is_good) == (1, 1, False)
    assert (outcome.bulk, outcome.urgent) == ([1.0], [0.5])
