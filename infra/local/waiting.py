"""Wait for what other threads bring about."""

from __future__ import annotations

import time
from collections.abc import Callable


def wait_for(condition: Callable[[], bool], seconds: float, what: str, pause: float = 0.02) -> float:
    """Wait until the condition holds, looking every `pause` seconds.

    Returns the seconds it took; raises `TimeoutError` saying `what`.
    """
    start = time.monotonic()
    while not condition():
        if time.monotonic() - start > seconds:
            raise TimeoutError(f"not within {seconds:g} s: {what}")
        time.sleep(pause)
    return time.monotonic() - start
