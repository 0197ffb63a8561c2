"""Which directories of a build make up a function."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from infra.rie.emulator import Package
from infra.sources import package_directory


def package_of(function: str, template: Mapping[str, Any], build: Path) -> Package:
    """The package of a function (logical id) of the template as it was built.

    Raises `FileNotFoundError` when it was not built.
    """
    resources = template["Resources"]
    layers = [layer["Ref"] for layer in resources[function]["Properties"].get("Layers", [])]
    directories = [package_directory(resources[name], build) for name in (function, *layers)]
    for directory in directories:
        if not directory.is_dir():
            raise FileNotFoundError(f"{directory} was not built")
    code, *rest = directories
    return Package(code, tuple(rest))
