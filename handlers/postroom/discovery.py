"""Which subscribers there are: whatever `queue_*` modules lie beside the entry that asks."""

import importlib
import pkgutil
from collections.abc import Sequence
from functools import cache
from typing import Any

from .jobs import JobType

PREFIX = "queue_"


@cache
def job_types(package: str) -> Sequence[JobType[Any]]:
    """The job types of a package's queue entries, in the order of their file names.

    By import, so that adding a subscriber is adding its file: nothing else keeps a list. Looked
    for once: what a process began with is what it has queues for.
    """
    path = importlib.import_module(package).__path__
    names = sorted(module.name for module in pkgutil.iter_modules(path) if module.name.startswith(PREFIX))
    return tuple(importlib.import_module(f"{package}.{name}").handler.job_type for name in names)
