"""What is uploaded: one package per source; its content's hash, its size and its bound."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

FUNCTION_LIMIT_MB = 14.0
"""Pydantic is the most of it. Every MB more is read at each cold start."""
_UTILITIES = (
    *("auth_alpha", "batch", "circuit_breaker", "data_classes", "data_masking", "feature_flags"),
    *("idempotency", "kafka", "parameters", "parser", "streaming", "validation"),
)
UNUSED = (
    "aws_lambda_powertools/event_handler",
    *(f"aws_lambda_powertools/utilities/{name}" for name in _UTILITIES),
)
"""Of Powertools the metrics only are used, and they load none of these."""
LAYER_LIMIT_MB = 60.0
"""The PDF library and its fonts. Lambda's own limit, functions and layers together, is 250 MB:
docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html"""


def megabytes(package: Path) -> float:
    """Unpacked, in units of 10^6 bytes."""
    return sum(file.stat().st_size for file in _files(package)) / 1e6


def is_layer(package: Path) -> bool:
    """docs.aws.amazon.com/lambda/latest/dg/python-layers.html: libraries are below `python`."""
    return (package / "python").is_dir()


def limit(package: Path) -> float:
    """How large it may be, in MB unpacked."""
    return LAYER_LIMIT_MB if is_layer(package) else FUNCTION_LIMIT_MB


def digest(package: Path) -> str:
    """SHA-256 of the names and contents of its files. Times are left out, as they are when it is deployed."""
    whole = hashlib.sha256()
    for file in _files(package):
        name = file.relative_to(package).as_posix()
        whole.update(f"{name}\0{hashlib.sha256(file.read_bytes()).hexdigest()}\n".encode())
    return whole.hexdigest()


def digest_of_all(digests: Mapping[str, str]) -> str:
    """One hash for a whole build, from its packages' by their names."""
    lines = [f"{name}\0{digests[name]}\n" for name in sorted(digests)]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def drop_unused(package: Path) -> None:
    """Leave out what no function loads. What is not there already is no error: layers have none of it."""
    for name in UNUSED:
        shutil.rmtree(package / name, ignore_errors=True)


def too_large(packages: Iterable[Path]) -> Mapping[str, str]:
    """What is above its bound: name → size and bound."""
    return {
        package.name: f"{megabytes(package):.1f} MB unpacked, and its bound is {limit(package):.1f} MB"
        for package in packages
        if megabytes(package) > limit(package)
    }


def _files(package: Path) -> Iterator[Path]:
    yield from sorted(path for path in package.rglob("*") if path.is_file())
