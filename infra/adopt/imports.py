"""Which module of this repository imports which, read from the sources: nothing is run."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

PACKAGES = ("handlers", "infra", "tests")


@dataclass(frozen=True)
class Module:
    """A Python file; `name` is dotted, and a package's is that of its `__init__.py`."""

    name: str
    path: Path

    @cached_property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @cached_property
    def nodes(self) -> Sequence[ast.AST]:
        return tuple(ast.walk(self.tree))

    @property
    def is_package(self) -> bool:
        return self.path.name == "__init__.py"

    @cached_property
    def texts(self) -> frozenset[str]:
        """The texts in it; of an f-string the fixed parts."""
        nodes = (node for node in self.nodes if isinstance(node, ast.Constant))
        return frozenset(node.value for node in nodes if isinstance(node.value, str))

    @cached_property
    def words(self) -> frozenset[str]:
        """The words of its texts, as identifiers are written."""
        return frozenset(word for text in self.texts for word in re.findall(r"\w+", text))

    def imported(self) -> Iterator[str]:
        """Dotted names that it imports; of `from a import b` both `a` and `a.b`, for `b` may be a module."""
        for node in self.nodes:
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                source = self._source(node)
                yield source
                yield from (f"{source}.{alias.name}" for alias in node.names)

    def fixtures(self) -> set[str]:
        """The pytest fixtures that it defines."""
        functions = (node for node in self.tree.body if isinstance(node, ast.FunctionDef))
        return {each.name for each in functions if any(map(_makes_a_fixture, each.decorator_list))}

    def arguments(self) -> set[str]:
        """The names of all its functions' arguments: a test asks for a fixture by one."""
        functions = (node for node in self.nodes if isinstance(node, ast.FunctionDef))
        return {argument.arg for each in functions for argument in each.args.args}

    def _source(self, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        package = self.name.split(".")
        above = node.level - 1 if self.is_package else node.level
        base = package[: len(package) - above]
        return ".".join([*base, *([node.module] if node.module else [])])


def modules(root: Path) -> Mapping[str, Module]:
    """Every module of the repository at `root`, by name."""
    paths = (path for package in PACKAGES for path in sorted((root / package).rglob("*.py")))
    found = (Module(_name(path.relative_to(root)), path) for path in paths)
    return {module.name: module for module in found}


def graph(found: Mapping[str, Module]) -> Mapping[str, set[str]]:
    """What each module imports of the others, and the conftests of which a test takes fixtures."""
    imports = {name: set(module.imported()) & found.keys() for name, module in found.items()}
    for name, module in found.items():
        imports[name] |= {conftest.name for conftest in _used(module, found)}
    return imports


def _makes_a_fixture(decorator: ast.expr) -> bool:
    return ast.unparse(decorator).startswith("pytest.fixture")


def _used(module: Module, found: Mapping[str, Module]) -> Iterator[Module]:
    if not module.path.name.startswith("test_"):
        return
    wanted = module.arguments() - module.fixtures()
    for conftest in _conftests(module.name.split("."), found):
        if wanted & conftest.fixtures():
            yield conftest


def _conftests(parts: Sequence[str], found: Mapping[str, Module]) -> Iterator[Module]:
    for depth in range(1, len(parts)):
        name = ".".join([*parts[:depth], "conftest"])
        if name in found:
            yield found[name]


def _name(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
