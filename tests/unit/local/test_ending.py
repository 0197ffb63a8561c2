from __future__ import annotations

import subprocess
import sys

import pytest

from tests.unit.local.commands import ROOT

SCRIPT = """
import signal, sys, threading
from infra.local.ending import Ending

ending = Ending()
number = signal.Signals[sys.argv[1]]
threading.Timer(0.1, lambda: signal.pthread_kill(threading.get_ident(), number)).start()
ending.wait()
print("ended")
"""


@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM"])
def test_signal_that_another_thread_receives_ends_the_wait(number: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", SCRIPT, number], cwd=ROOT, capture_output=True, text=True, timeout=20
    )

    assert (ended.returncode, ended.stdout) == (0, "ended\n")
