"""Functions in processes of their own. These tests run real processes and real signals."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from infra.local.functions import Function, FunctionSettings, Invocation
from infra.local.isolated import Isolated
from infra.local.nursery import ROOT, Nursery

HANDLER = "tests.unit.local.sample.probe"
ENVIRON = {"GREETING": "hello", "PATH": os.environ["PATH"]}


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    started = Nursery({**os.environ, "PYTHONPATH": str(ROOT), "SECRET_OF_THE_PARENT": "x"})
    yield started
    started.close()


@pytest.fixture
def make(nursery: Nursery) -> Iterator[Callable[..., Function]]:
    runners: list[Isolated] = []

    def function(handler: str = HANDLER, timeout: float = 20, size: int = 1) -> Function:
        runner = Isolated(handler, ENVIRON, size, nursery)
        runners.append(runner)
        settings = FunctionSettings(
            "Probe", "arn:aws:lambda:eu-west-1:1:function:Probe", handler, ENVIRON, timeout
        )
        return Function(settings, runner, time.time, lambda _: None, threading.Event())

    yield function
    for runner in runners:
        runner.close()


def pids(function: Function) -> list[int]:
    assert isinstance(function.runner, Isolated)
    return function.runner.pids


def is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def terminate(function: Function) -> None:
    for pid in pids(function):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)


def in_background(function: Function, event: Any) -> tuple[threading.Thread, list[Invocation]]:
    done: list[Invocation] = []
    thread = threading.Thread(target=lambda: done.append(function.invoke(event)))
    thread.start()
    return thread, done


def wait_until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.005)


def test_call_runs_in_another_process_with_the_environment_of_the_template_alone(
    make: Callable[..., Function],
) -> None:
    invocation = make().invoke({"do": "tell"})

    assert invocation.error is None
    assert invocation.answer["pid"] != os.getpid()
    assert (invocation.answer["greeting"], invocation.answer["home"]) == ("hello", None)
    assert invocation.answer["id"] == invocation.request_id
    assert 15_000 < invocation.answer["left"] <= 20_000


def test_process_is_kept_from_call_to_call(make: Callable[..., Function]) -> None:
    function = make()

    first, second = (function.invoke({"do": "tell"}).answer["pid"] for _ in range(2))

    assert first == second


def test_error_of_the_handler_is_told_with_its_trace(make: Callable[..., Function]) -> None:
    error = make().invoke({"do": "raise"}).error

    assert error is not None
    assert (error.kind, error.message) == ("ValueError", "as asked")
    assert "sample.py" in error.trace


def test_what_the_handler_prints_is_no_answer(
    make: Callable[..., Function], capfd: pytest.CaptureFixture[str]
) -> None:
    assert make().invoke({"do": "print"}).answer == "printed"


@pytest.mark.parametrize("large", [{"text": "x" * 300_000}])
def test_large_event_and_answer_pass(make: Callable[..., Function], large: dict[str, str]) -> None:
    assert make().invoke(large).answer == large


def test_answer_that_is_no_json_is_an_error(make: Callable[..., Function]) -> None:
    assert make().invoke({"do": "object"}).error is not None


def test_handler_that_cannot_be_imported_fails_each_call(make: Callable[..., Function]) -> None:
    function = make("tests.unit.local.no_such_module.handler")

    errors = [function.invoke({}).error for _ in range(2)]

    assert [error.kind for error in errors if error] == ["ModuleNotFoundError", "ModuleNotFoundError"]


def test_death_in_the_middle_of_a_call_is_a_failed_run_and_the_next_call_has_a_new_process(
    make: Callable[..., Function],
) -> None:
    function = make()
    (before,) = pids(function)

    error = function.invoke({"do": "exit"}).error

    assert error is not None
    assert error.kind == "Runtime.ExitError"
    assert function.invoke({"do": "tell"}).answer["pid"] != before


def test_sigkill_while_idle_costs_no_call(make: Callable[..., Function]) -> None:
    function = make()
    (before,) = pids(function)

    os.kill(before, signal.SIGKILL)
    invocation = function.invoke({"do": "tell"})

    assert invocation.error is None
    assert invocation.answer["pid"] != before


def test_sigkill_at_work_fails_that_call_alone(make: Callable[..., Function], tmp_path: Path) -> None:
    function = make(size=2)
    sign = tmp_path / "at work"
    thread, done = in_background(function, {"do": "wait", "seconds": 15, "sign": str(sign)})
    wait_until(sign.exists)
    (busy,) = pids(function)
    other = function.invoke({"do": "tell"})

    os.kill(busy, signal.SIGKILL)
    thread.join()

    assert other.error is None
    assert done[0].error is not None
    assert done[0].error.kind == "Runtime.ExitError"


def test_call_that_overruns_its_time_limit_is_killed(make: Callable[..., Function]) -> None:
    function = make(timeout=0.5)
    function.invoke({})
    (before,) = pids(function)

    invocation = function.invoke({"do": "wait", "seconds": 15, "sign": os.devnull})

    assert invocation.error is not None
    assert invocation.error.message == "Task timed out after 0.50 seconds"
    assert invocation.ended - invocation.started < 10
    assert before not in pids(function)


def test_sigterm_lets_the_call_under_way_finish_with_no_time_left(make: Callable[..., Function]) -> None:
    function = make()
    thread, done = in_background(function, {"do": "wait until told to stop"})

    while thread.is_alive():
        terminate(function)
        thread.join(0.01)

    assert [(one.answer, one.error) for one in done] == [("told", None)]
    assert done[0].ended - done[0].started < 10


def test_sigterm_again_and_again_loses_no_call(make: Callable[..., Function]) -> None:
    function = make(size=2)
    ended = threading.Event()

    def strike() -> None:
        while not ended.wait(0.002):
            terminate(function)

    striker = threading.Thread(target=strike)
    striker.start()
    errors = [function.invoke({"number": number}).error for number in range(60)]
    ended.set()
    striker.join()

    assert errors == [None] * 60


def test_refresh_replaces_the_processes(make: Callable[..., Function]) -> None:
    function = make()
    before = function.invoke({"do": "tell"}).answer["pid"]

    function.runner.refresh()
    wait_until(lambda: pids(function) == [])

    assert function.invoke({"do": "tell"}).answer["pid"] != before


def test_close_ends_every_process(make: Callable[..., Function]) -> None:
    function = make()
    (pid,) = pids(function)

    function.runner.close()

    wait_until(lambda: is_gone(pid))


def test_ctrl_c_is_for_the_parent_alone(make: Callable[..., Function]) -> None:
    """A terminal sends it to every process of its foreground group."""
    groups = {os.getpgid(pid) for pid in pids(make())}

    assert groups
    assert os.getpgrp() not in groups
