from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest

from infra.local.aws import LocalAws, SystemClock
from infra.local.dispatcher import Dispatcher
from infra.local.stack import Pollable

SOON_SECONDS = 10.0


@dataclass
class Source:
    """Work that ends when the test lets it; `left` pieces of it."""

    name: str = "Source"
    concurrency: int = 5
    left: int = 20
    gate: threading.Event = field(default_factory=threading.Event)
    running: int = 0
    most: int = 0
    done: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def claim(self) -> Callable[[], int] | None:
        if self.left == 0:
            return None
        self.left -= 1
        return self._work

    def next_due(self) -> float | None:
        return None

    def _work(self) -> int:
        with self.lock:
            self.running += 1
            self.most = max(self.most, self.running)
        self.gate.wait(SOON_SECONDS)
        with self.lock:
            self.running -= 1
            self.done += 1
        return 1


@dataclass
class Broken(Source):
    name: str = "Broken"

    def claim(self) -> Callable[[], int] | None:
        raise RuntimeError("cannot be read")


@dataclass
class Stand:
    """What a dispatcher needs of a stack."""

    pollables: list[Pollable]
    aws: LocalAws = field(default_factory=lambda: LocalAws(SystemClock()))
    stopping: threading.Event = field(default_factory=threading.Event)

    def now(self) -> float:
        return time.time()

    def next_due(self) -> float | None:
        return None


Start = Callable[..., Dispatcher]


@pytest.fixture
def start() -> Iterator[Start]:
    started: list[Dispatcher] = []

    def begin(*sources: Pollable, concurrency: int = 3) -> Dispatcher:
        dispatcher = Dispatcher(Stand(list(sources)), concurrency)
        started.append(dispatcher)
        dispatcher.start()
        return dispatcher

    yield begin
    for dispatcher in started:
        dispatcher.stop()


def wait_until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + SOON_SECONDS
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.002)


@pytest.mark.parametrize(("wanted", "allowed", "most"), [(5, 3, 3), (2, 3, 2)])
def test_no_more_pieces_at_once_than_the_mapping_and_the_machine_allow(
    start: Start, wanted: int, allowed: int, most: int
) -> None:
    source = Source(concurrency=wanted)
    start(source, concurrency=allowed)
    wait_until(lambda: source.running == most)

    source.gate.set()
    wait_until(lambda: source.done == 20)

    assert source.most == most


def test_one_mapping_at_its_limit_does_not_hold_up_another(start: Start) -> None:
    slow, quick = Source("Slow"), Source("Quick")
    quick.gate.set()

    start(slow, quick)
    wait_until(lambda: quick.done == 20)
    held = slow.done
    slow.gate.set()

    assert held == 0


def test_mapping_that_cannot_take_its_work_is_told_of_and_stops_no_other(
    start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    source = Source()
    source.gate.set()
    with caplog.at_level(logging.ERROR):
        start(Broken(), source)
        wait_until(lambda: source.done == 20)

    assert "Broken cannot take its work" in caplog.text


def test_stop_waits_for_what_is_under_way_and_claims_nothing_more(start: Start) -> None:
    source = Source()
    dispatcher = start(source)
    wait_until(lambda: source.running == 3)
    left = source.left

    stopper = threading.Thread(target=dispatcher.stop)
    stopper.start()
    stopper.join(0.05)
    waited = stopper.is_alive()
    source.gate.set()
    stopper.join(SOON_SECONDS)

    assert (waited, stopper.is_alive()) == (True, False)
    assert (source.done, source.left) == (3, left)
