"""The example's part of template.yaml, told from what refers to what, and cut out as text."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

_SECTION = re.compile(r"(\w+):")
_ENTRY = re.compile(r"  (\w+):")
_COMMENT, _HEADER = re.compile(r"  #"), re.compile(r"  # ----")
_REFERENCE = re.compile(r"!(?:Ref|GetAtt|Condition) \"?(\w+)|\$\{(\w+)|(?:DependsOn|Condition): \[?(\w+)")
_CONDITION = re.compile(r"!If \[(\w+)")
_HANDLER = re.compile(r"^ +Handler: ([\w.]+)\.\w+$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Entry:
    """One parameter, resource, output or the like: its lines, with the comment that stands before it."""

    section: str
    name: str
    start: int
    end: int
    text: str

    @property
    def refers_to(self) -> set[str]:
        found = {name for names in _REFERENCE.findall(self.text) for name in names if name}
        return found | set(_CONDITION.findall(self.text))

    @property
    def handler(self) -> str | None:
        """The module whose function it is."""
        found = _HANDLER.search(self.text)
        return found[1] if found else None


def entries(template: str) -> Sequence[Entry]:
    """Everything that has a name of its own, in its order."""
    lines = template.splitlines()
    found = list(_starts(lines))
    ends = [start for _, _, start in found[1:]] + [len(lines)]
    cut = [_end(lines, start, end) for (_, _, start), end in zip(found, ends, strict=True)]
    return [
        Entry(section, name, start, end, "\n".join(lines[start:end]))
        for (section, name, start), end in zip(found, cut, strict=True)
    ]


def _starts(lines: Sequence[str]) -> Iterator[tuple[str, str, int]]:
    section = ""
    for number, line in enumerate(lines):
        if found := _SECTION.match(line):
            section = found[1]
        elif found := _ENTRY.match(line):
            yield section, found[1], _with_comment(lines, number)


def _with_comment(lines: Sequence[str], start: int) -> int:
    while _COMMENT.match(lines[start - 1]) and not _HEADER.match(lines[start - 1]):
        start -= 1
    return start


def _end(lines: Sequence[str], start: int, end: int) -> int:
    """Before the next header or section, if one stands between."""
    body = range(start + 1, end)
    return next((n for n in body if _SECTION.match(lines[n]) or _HEADER.match(lines[n])), end)


@dataclass(frozen=True)
class References:
    """Who refers to whom in a template."""

    entries: Sequence[Entry]

    @cached_property
    def owners(self) -> Mapping[str, set[str]]:
        """What refers to each, outputs and what is attached to it left out."""
        return {name: referrers - self._attached for name, referrers in self._referrers.items()}

    def example_of(self, modules: Collection[str]) -> set[str]:
        """The names that go when the functions of these `modules` do.

        With a function goes what only it and its like refer to, and what is attached to that: a policy, a
        subscription, an alarm, an output, which nothing refers to and which itself refers to something.
        What nothing is left to use goes, too.
        """
        gone = {each.name for each in self.entries if each.handler in modules}
        while new := {each.name for each in self.entries if each.name not in gone and self._goes(each, gone)}:
            gone |= new
        return gone | {each.name for each in self.entries if self._is_unused(each, gone)}

    def _goes(self, entry: Entry, gone: set[str]) -> bool:
        if entry.handler or entry.section not in ("Resources", "Outputs"):
            return False
        owners = self.owners[entry.name]
        return (bool(owners) and owners <= gone) or (
            entry.name in self._attached and bool(entry.refers_to & gone)
        )

    def _is_unused(self, entry: Entry, gone: set[str]) -> bool:
        referrers = self._referrers[entry.name]
        return entry.section in ("Parameters", "Conditions") and bool(referrers) and referrers <= gone

    @cached_property
    def _referrers(self) -> Mapping[str, set[str]]:
        found: dict[str, set[str]] = {each.name: set() for each in self.entries}
        for each in self.entries:
            for name in each.refers_to & found.keys() - {each.name}:
                found[name].add(each.name)
        return found

    @cached_property
    def _attached(self) -> set[str]:
        outer = (
            each for each in self.entries if each.section in ("Resources", "Outputs") and not each.handler
        )
        return {each.name for each in outer if each.refers_to and not self._referrers[each.name]}


def without(template: str, names: Collection[str]) -> str:
    """The template without these, and without the headers that then stand over nothing."""
    lines = template.splitlines()
    for each in reversed(entries(template)):
        if each.name in names:
            del lines[each.start : each.end]
    kept = [line for number, line in enumerate(lines) if not _heads_nothing(lines, number)]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(kept)) + "\n"


def _heads_nothing(lines: Sequence[str], number: int) -> bool:
    following = next((line for line in lines[number + 1 :] if line), "")
    return bool(_HEADER.match(lines[number]) and (_HEADER.match(following) or _SECTION.match(following)))
