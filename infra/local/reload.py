"""Take up changes of the handlers' code while the local run goes on."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

INTERVAL_SECONDS = 0.5
Times = Mapping[Path, int]


class Reloader:
    """Watches a folder: when its code has changed and compiles, forgets the old and calls `refresh`."""

    def __init__(
        self,
        folder: Path,
        refresh: Callable[[], None],
        show: Callable[[str], object],
        package: str = "handlers",
    ) -> None:
        self._package = package
        self._folder = folder
        self._refresh = refresh
        self._show = show
        self._times = _times(folder)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="reloader", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._ended.set()
        self._thread.join()

    def look(self) -> bool:
        """Take up what has changed since the last look. Returns whether something was."""
        times = _times(self._folder)
        changed = sorted(
            path for path in times.keys() | self._times if times.get(path) != self._times.get(path)
        )
        self._times = times
        if not changed or not self._compiles(path for path in changed if path in times):
            return False
        forget(self._package)
        self._refresh()
        self._show(f"reloaded: {', '.join(str(path.relative_to(self._folder.parent)) for path in changed)}")
        return True

    def _run(self) -> None:
        while not self._ended.wait(INTERVAL_SECONDS):
            self.look()

    def _compiles(self, paths: Iterable[Path]) -> bool:
        for path in paths:
            try:
                compile(path.read_bytes(), path, "exec")
            except SyntaxError as error:
                self._show(f"not reloaded: {path.name} line {error.lineno}: {error.msg}")
                return False
        return True


def forget(package: str) -> None:
    """Let the next import of a package's modules read their files anew."""
    for name in [name for name in sys.modules if name == package or name.startswith(f"{package}.")]:
        del sys.modules[name]


def _times(folder: Path) -> Times:
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*.py")}
