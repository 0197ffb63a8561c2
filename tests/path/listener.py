"""What the engine says in its log, kept for tests."""

import logging
from collections.abc import Callable


class Listener(logging.Handler):
    """Hears what the engine logs: outcomes of records, and troubles."""

    def __init__(self, now: Callable[[], float]) -> None:
        super().__init__()
        self._now = now
        self.outcomes: list[tuple[str, str, float]] = []
        self.troubles: list[tuple[str, str]] = []

    def emit(self, record: logging.LogRecord) -> None:
        name = record.getMessage()
        if record.msg == "job.%s":
            outcome = name.removeprefix("job.")
            self.outcomes.append((str(record.__dict__["subscriber"]), outcome, self._now()))
        elif record.levelno >= logging.WARNING:
            trace = "".join(record.__dict__.get("trace", ()))
            self.troubles.append((name, f"{logging.Formatter().format(record)}\n{trace}"))
