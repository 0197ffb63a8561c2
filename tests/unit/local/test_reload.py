from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from infra.local.reload import Reloader, forget


class Code:
    """A package of one module, and a reloader that watches it."""

    def __init__(self, folder: Path, name: str) -> None:
        self.name = name
        self.folder = folder / name
        self.folder.mkdir()
        self.write("value = 1", "__init__")
        self.write("value = 1")
        self.said: list[str] = []
        self.refreshed = 0
        self.reloader = Reloader(self.folder, self._refresh, self.said.append, package=name)

    def write(self, text: str, module: str = "module") -> None:
        path = self.folder / f"{module}.py"
        path.write_text(text, encoding="utf-8")
        # Two writes may fall into one tick of the file system's clock, and byte code is kept by the second.
        later = path.stat().st_mtime + 10
        os.utime(path, (later, later))

    @property
    def value(self) -> int:
        return int(importlib.import_module(f"{self.name}.module").value)

    def _refresh(self) -> None:
        self.refreshed += 1


@pytest.fixture
def code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Code]:
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield Code(tmp_path, "reloaded_code")
    forget("reloaded_code")


def test_change_is_taken_up_with_the_next_import(code: Code) -> None:
    before = code.value

    code.write("value = 22")

    assert code.reloader.look()
    assert (before, code.value, code.refreshed) == (1, 22, 1)
    assert code.said == ["reloaded: reloaded_code/module.py"]


def test_nothing_changed_is_nothing_done(code: Code) -> None:
    assert not code.reloader.look()
    assert code.refreshed == 0


def test_code_that_does_not_compile_leaves_the_old_in_place_until_it_is_mended(code: Code) -> None:
    before = code.value

    code.write("value = (")
    looked = code.reloader.look()
    still = code.value
    code.write("value = 333")

    assert (looked, before, still, code.refreshed) == (False, 1, 1, 0)
    assert code.said[0].startswith("not reloaded: module.py line 1")
    assert code.reloader.look()
    assert code.value == 333
