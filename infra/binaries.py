"""Which processor and which Python the libraries of a build are for."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from pathlib import Path

MACHINES = {"x86_64": 62, "arm64": 183}
"""`e_machine` of an ELF header: EM_X86_64 and EM_AARCH64.
gabi.xinuos.com/elf/02-eheader.html"""
PLATFORMS = {"x86_64": "x86_64", "arm64": "aarch64"}
"""What wheels call Lambda's architectures:
packaging.python.org/en/latest/specifications/platform-compatibility-tags"""
_PURE = "py3-none-any"


def foreign(directory: Path, architecture: str) -> Iterator[Path]:
    """Yield the compiled libraries that would fail to load on a Lambda of that architecture."""
    for library in compiled(directory):
        if _machine(library) != MACHINES[architecture]:
            yield library


def compiled(directory: Path) -> list[Path]:
    """The shared objects in a directory, `libx.so` as well as `libx.so.6`."""
    return sorted(path for path in directory.rglob("*.so*") if path.is_file())


def unfit_wheels(directory: Path, runtime: str, architecture: str) -> Iterator[Path]:
    """Yield the `WHEEL` files of which no tag is for that runtime (`python3.13`) and architecture."""
    for wheel in sorted(directory.rglob("*.dist-info/WHEEL")):
        if not any(_fits(tag, runtime, architecture) for tag in _tags(wheel)):
            yield wheel


def _fits(tag: str, runtime: str, architecture: str) -> bool:
    python = runtime.removeprefix("python").replace(".", "")
    compiled_for = rf"cp{python}-(cp{python}|abi3)-(many)?linux\w*_{PLATFORMS[architecture]}"
    stable = rf"cp3\d+-abi3-(many)?linux\w*_{PLATFORMS[architecture]}"
    return any(re.fullmatch(form, tag) for form in (_PURE, compiled_for, stable))


def _tags(wheel: Path) -> list[str]:
    lines = wheel.read_text(encoding="utf-8").splitlines()
    return [line.removeprefix("Tag:").strip() for line in lines if line.startswith("Tag:")]


def _machine(library: Path) -> int | None:
    with library.open("rb") as file:
        header = file.read(20)
    little_endian_elf64 = header.startswith(b"\x7fELF\x02\x01")
    return struct.unpack_from("<H", header, 18)[0] if little_endian_elf64 and len(header) == 20 else None
