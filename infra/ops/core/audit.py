"""Who changed what: a JSON line for every destructive act, in a file of the user's own."""

import json
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from infra.ops.core.target import Target


def audit_file() -> Path:
    """In the user's state directory.

    https://specifications.freedesktop.org/basedir-spec/latest/
    """
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "postroom" / "audit.jsonl"


def note(target: Target, act: str, **facts: Any) -> Mapping[str, Any]:
    """Write down what has been done and return the entry."""
    at = datetime.fromtimestamp(target.clock(), UTC).isoformat(timespec="seconds")
    entry = {"at": at, "by": target.by, "stack": target.name, "act": act, **facts}
    path = audit_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(f"{json.dumps(entry, ensure_ascii=False)}\n")
    return entry
