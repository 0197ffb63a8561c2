"""What this machine is, in Lambda's words."""

from __future__ import annotations

import platform

ARCHITECTURES = {"x86_64": "x86_64", "amd64": "x86_64", "aarch64": "arm64", "arm64": "arm64"}
"""By what machines call themselves."""


def architecture() -> str:
    """Raises `KeyError` on a processor that Lambda does not have."""
    return ARCHITECTURES[platform.machine().lower()]
