from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from handlers.postroom import discovery
from infra.local.reload import Reloader, forget


class Code:
    """A package of one module, and a reloader that watches it."""

    def __init__(self, folder: Path, name: str) -> None:
        self.name = name
        self.folder = folder / name
        self.folder.mkdir()
        self.write("value = 1", "__init__")
        self.write("value = 1")
        self.template = folder / "template.yaml"
        self.template.write_text("Resources: {}", encoding="utf-8")
        self.said: list[str] = []
        self.refreshed = 0
        self.reloader = Reloader(
            self.folder, self._refresh, self.said.append, package=name, template=self.template
        )

    def write(self, text: str, module: str = "module") -> None:
        self.write_file(self.folder / f"{module}.py", text)

    def write_file(self, path: Path, text: str) -> None:
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


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("import nope_x", "ModuleNotFoundError: No module named 'nope_x'"),
        ("raise ValueError('two\\nlines')", "ValueError: two lines"),
        ("raise SystemExit(3)", "SystemExit: 3"),
    ],
)
def test_code_that_cannot_be_imported_leaves_the_old_in_place_until_it_is_mended(
    code: Code, text: str, reason: str
) -> None:
    before = code.value

    code.write(text)
    looked = code.reloader.look()
    still = code.value
    code.write("value = 333")

    assert (looked, before, still, code.refreshed) == (False, 1, 1, 0)
    assert code.said == [f"not reloaded: reloaded_code/module.py: {reason}"]
    assert code.reloader.look()
    assert code.value == 333


def test_module_that_lacks_what_an_entry_takes_from_it_is_not_taken_up(code: Code) -> None:
    code.write("from reloaded_code.module import value", "entry")
    assert code.reloader.look()

    code.write("other = 1")

    assert not code.reloader.look()
    assert code.said[-1].startswith("not reloaded: reloaded_code/entry.py: ImportError: cannot import name")


def test_what_is_broken_still_is_not_taken_up_with_a_change_elsewhere(code: Code) -> None:
    code.write("value = (")
    code.reloader.look()

    code.write("other = 1", "__init__")

    assert not code.reloader.look()
    assert code.said[-1].startswith("not reloaded: module.py line 1")


def test_changed_template_is_told_and_code_waits_until_it_is_the_one_that_runs(code: Code) -> None:
    before = code.value

    code.write_file(code.template, "Resources: {Queue: {}}")
    looks = [code.reloader.look(), code.reloader.look()]
    code.write("value = 22")
    looks.append(code.reloader.look())
    still = code.value
    code.write_file(code.template, "Resources: {}")

    line = "template.yaml has changed: restart make up to take it up"
    assert (looks, before, still) == ([False, False, False], 1, 1)
    assert code.said == [line, f"not reloaded: {line}"]
    assert code.reloader.look()
    assert (code.value, code.said[-1]) == (22, "reloaded: reloaded_code/module.py")


def test_new_subscriber_without_a_function_is_not_taken_up(code: Code) -> None:
    code.write("value = 1", "queue_fraud")
    looked = code.reloader.look()
    code.write("value = 22")

    assert not looked
    assert not code.reloader.look()
    line = "reloaded_code/queue_fraud.py has no function in what runs: restart make up once it has one"
    assert code.said == [f"not reloaded: {line}"] * 2
    (code.folder / "queue_fraud.py").unlink()
    assert code.reloader.look()


def test_template_that_was_only_saved_again_is_nothing(code: Code) -> None:
    code.write_file(code.template, "Resources: {}")

    assert not code.reloader.look()
    assert (code.said, code.refreshed) == ([], 0)


def test_subscriber_whose_file_comes_later_is_unknown_until_code_is_read_anew(code: Code) -> None:
    kind = "class handler: job_type = '{}'"
    code.write(kind.format("first"), "queue_first")
    before = [str(each) for each in discovery.job_types(code.name)]

    code.write(kind.format("second"), "queue_second")
    during = [str(each) for each in discovery.job_types(code.name)]
    importlib.invalidate_caches()
    discovery.job_types.cache_clear()
    after = [str(each) for each in discovery.job_types(code.name)]

    assert (before, during, after) == (["first"], ["first"], ["first", "second"])
