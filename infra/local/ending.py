"""To be told that a command shall end, on whichever of its threads the signal arrives."""

from __future__ import annotations

import os
import signal


class Ending:
    """SIGINT and SIGTERM from now on, of a process whose main thread does nothing but wait for them.

    Not a lock: a signal that another thread receives does not wake the main thread from one, and its handler
    would never run. https://docs.python.org/3/library/signal.html#signal.set_wakeup_fd
    """

    def __init__(self) -> None:
        self._told, tell = os.pipe()
        os.set_blocking(tell, False)
        signal.set_wakeup_fd(tell)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda _signal, _frame: None)

    def wait(self) -> None:
        """Return as soon as one has come."""
        os.read(self._told, 1)
