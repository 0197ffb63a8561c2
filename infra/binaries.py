"""Which processor the compiled libraries of a build are for."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

MACHINES = {"x86_64": 62, "arm64": 183}
"""`e_machine` of an ELF header: EM_X86_64 and EM_AARCH64.
gabi.xinuos.com/elf/02-eheader.html"""


def foreign(directory: Path, architecture: str) -> Iterator[Path]:
    """Yield the compiled libraries that would fail to load on a Lambda of that architecture."""
    for library in compiled(directory):
        if _machine(library) != MACHINES[architecture]:
            yield library


def compiled(directory: Path) -> list[Path]:
    """The shared objects in a directory, `libx.so` as well as `libx.so.6`."""
    return sorted(path for path in directory.rglob("*.so*") if path.is_file())


def _machine(library: Path) -> int | None:
    header = library.read_bytes()[:20]
    little_endian_elf64 = header.startswith(b"\x7fELF\x02\x01")
    return struct.unpack_from("<H", header, 18)[0] if little_endian_elf64 and len(header) == 20 else None
