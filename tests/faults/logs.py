"""Everything the code under test logs, as one text per line: what an operator, or a thief, could read."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

_USUAL = frozenset(vars(logging.makeLogRecord({})))
_LOGGER = logging.getLogger("postroom")


class _Lines(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self._formatter = logging.Formatter("%(name)s %(levelname)s %(message)s")

    def emit(self, record: logging.LogRecord) -> None:
        extra = {name: value for name, value in vars(record).items() if name not in _USUAL}
        self.lines.append(f"{self._formatter.format(record)} {extra}")


@contextmanager
def collected() -> Iterator[list[str]]:
    """The engine's logs, which go nowhere else meanwhile."""
    handler, before = _Lines(), (_LOGGER.propagate, _LOGGER.level)
    _LOGGER.addHandler(handler)
    _LOGGER.propagate = False
    _LOGGER.setLevel(logging.INFO)
    try:
        yield handler.lines
    finally:
        _LOGGER.removeHandler(handler)
        _LOGGER.propagate, _LOGGER.level = before
