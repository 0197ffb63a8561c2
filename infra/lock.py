"""A lock: a requirements file with every package at one version, and the hash of each wheel of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

HEADER = "# Locked by `make requirements` from pyproject.toml: "
_NOTE = "# Wheels for Linux on arm64 and x86_64. pip takes no file that has another hash."
_PIN = re.compile(
    r"^(?P<pin>[A-Za-z0-9._-]+==[^\s\\]+)(?P<hashes>(?:\s*\\\n\s+--hash=sha256:[0-9a-f]{64})+)$", re.M
)
_HASH = re.compile(r"sha256:([0-9a-f]{64})")
_COMMENT = re.compile(r"^#.*\n?", re.M)


@dataclass(frozen=True, slots=True)
class Lock:
    """`ranges` as pyproject.toml declares them; `pins` are `name==version` → the SHA-256 of its wheels."""

    ranges: tuple[str, ...]
    pins: Mapping[str, Sequence[str]]

    def locks(self, ranges: Sequence[str]) -> bool:
        """Whether it was made from these ranges, and has a pin for each of them."""
        names = {_name(pin) for pin in self.pins}
        return self.ranges == tuple(ranges) and {_name(each) for each in ranges} <= names


def merged(platforms: Iterable[Mapping[str, str]]) -> Mapping[str, Sequence[str]]:
    """One lock for several machines: their pins, with the hash of each one's wheel."""
    pins: dict[str, set[str]] = {}
    for platform in platforms:
        for pin, digest in platform.items():
            pins.setdefault(pin, set()).add(digest)
    return {pin: sorted(pins[pin]) for pin in sorted(pins, key=str.lower)}


def text(lock: Lock) -> str:
    lines = [f"{HEADER}{', '.join(lock.ranges)}", _NOTE]
    for pin, digests in lock.pins.items():
        lines.append(" \\\n".join([pin, *(f"    --hash=sha256:{digest}" for digest in digests)]))
    return "".join(f"{line}\n" for line in lines)


def read(content: str) -> Lock:
    """What a file locks. A file in which anything is not pinned with a hash locks nothing."""
    header = content.partition("\n")[0]
    ranges = header.removeprefix(HEADER).split(", ") if header.startswith(HEADER) else []
    pins = {found["pin"]: _HASH.findall(found["hashes"]) for found in _PIN.finditer(content)}
    rest = _COMMENT.sub("", _PIN.sub("", content)).strip()
    return Lock(tuple(ranges), {} if rest else pins)


def _name(requirement: str) -> str:
    """packaging.python.org/en/latest/specifications/name-normalization"""
    return re.sub(r"[-_.]+", "-", re.split(r"[^A-Za-z0-9._-]", requirement.strip(), maxsplit=1)[0]).lower()
