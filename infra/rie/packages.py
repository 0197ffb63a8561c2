"""Which directories of a build make up a function."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from infra.rie.emulator import Package


def package_of(function: str, template: Mapping[str, Any], build: Path) -> Package:
    """The package of a function (logical id) of the template as it is written.

    Raises `FileNotFoundError` when it was not built.
    """
    layers = template["Resources"][function]["Properties"].get("Layers", [])
    directories = [build / function, *(build / layer["Ref"] for layer in layers)]
    for directory in directories:
        if not directory.is_dir():
            raise FileNotFoundError(f"{directory} was not built")
    code, *rest = directories
    return Package(code, tuple(rest))
