"""Take up changes of the handlers' code while the local run goes on."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from handlers.postroom.discovery import PREFIX
from infra.local.importing import import_failure

INTERVAL_SECONDS = 0.5
Times = Mapping[Path, int]


class Reloader:
    """Watches a folder: when its code has changed and can be imported, forgets the old and calls `refresh`.

    Functions, queues and mappings are as the template had them at the start: as long as it has changed,
    or code has come for a queue that is not there, the old code goes on, for the new may rest on what is not.
    """

    def __init__(
        self,
        folder: Path,
        refresh: Callable[[], None],
        show: Callable[[str], object],
        package: str = "handlers",
        template: Path | None = None,
    ) -> None:
        self._package = package
        self._folder = folder
        self._refresh = refresh
        self._show = show
        self._template = template
        self._running = _content(template)
        self._times = self._look()
        self._queues = self._subscribers()
        self._pending: set[Path] = set()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="reloader", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._ended.set()
        self._thread.join()

    def look(self) -> bool:
        """Take up what has changed since the last look. Returns whether something was."""
        times = self._look()
        changed = {path for path in times.keys() | self._times if times.get(path) != self._times.get(path)}
        self._times = times
        self._pending |= changed - {self._template}
        if not changed:
            return False
        if trouble := self._restart_needed() or self._trouble():
            self._show(f"not reloaded: {trouble}" if self._pending else trouble)
            return False
        return self._take_up()

    def _take_up(self) -> bool:
        if not self._pending:
            return False
        forget(self._package)
        self._refresh()
        self._show(f"reloaded: {', '.join(map(self._name, sorted(self._pending)))}")
        self._pending.clear()
        return True

    def _run(self) -> None:
        while not self._ended.wait(INTERVAL_SECONDS):
            self.look()

    def _restart_needed(self) -> str | None:
        if self._template and _content(self._template) != self._running:
            return f"{self._template.name} has changed: restart make up to take it up"
        if new := sorted(self._subscribers() - self._queues):
            return f"{self._name(new[0])} has no function in what runs: restart make up once it has one"
        return None

    def _trouble(self) -> str | None:
        if not self._pending:
            return None
        there = [path for path in sorted(self._pending) if path in self._times]
        # What imports the changed module may miss something in it, and every entry is such a one.
        return _not_compiling(there) or import_failure(
            self._folder.parent, [*there, *sorted(self._folder.glob("*.py"))]
        )

    def _subscribers(self) -> set[Path]:
        return {path for path in self._times if path.parent == self._folder and path.name.startswith(PREFIX)}

    def _name(self, path: Path) -> str:
        return str(path.relative_to(self._folder.parent))

    def _look(self) -> Times:
        watched = [*self._folder.rglob("*.py"), *([self._template] if self._template else [])]
        times = ((path, _time(path)) for path in watched)
        return {path: time for path, time in times if time is not None}


def _not_compiling(paths: Iterable[Path]) -> str | None:
    for path in paths:
        try:
            compile(path.read_bytes(), path, "exec")
        except SyntaxError as error:
            return f"{path.name} line {error.lineno}: {error.msg}"
    return None


def forget(package: str) -> None:
    """Let the next import of a package's modules read their files anew."""
    for name in [name for name in sys.modules if name == package or name.startswith(f"{package}.")]:
        del sys.modules[name]


def _time(path: Path) -> int | None:
    """None for a file that is gone again: editors write beside the old one, and rename."""
    try:
        return path.stat().st_mtime_ns
    except FileNotFoundError:
        return None


def _content(path: Path | None) -> bytes | None:
    try:
        return path.read_bytes() if path else None
    except FileNotFoundError:
        return None
