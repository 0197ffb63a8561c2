"""The AWS CLI, pointed at the local run: each command is shown as anybody would type it."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_TIMEOUT_SECONDS = 60
_SHOWN_CHARACTERS = 60


@dataclass(frozen=True)
class AwsCli:
    """`program` is the CLI's executable, `url` where the services answer."""

    program: Path
    url: str
    region: str
    show: Callable[[str], object]

    @property
    def environ(self) -> dict[str, str]:
        """All that it, or a function's process, needs to reach the local run and nothing else."""
        return {
            "PATH": os.environ.get("PATH", ""),
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ACCESS_KEY_ID": "local",
            "AWS_SECRET_ACCESS_KEY": "local",
            "AWS_DEFAULT_REGION": self.region,
            "AWS_REGION": self.region,
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_PAGER": "",
        }

    def __call__(self, *arguments: str) -> Any:
        """Run one command. Returns its answer; raises `RuntimeError` with what it said when it fails."""
        self.show(f"$ aws {' '.join(map(_shown, arguments))}")
        done = subprocess.run(  # noqa: S603 (our own arguments)
            [str(self.program), "--endpoint-url", self.url, *arguments, "--output", "json"],
            env=self.environ,
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_SECONDS,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(done.stderr.strip())
        return json.loads(done.stdout) if done.stdout.strip() else {}


def _shown(argument: str) -> str:
    """As it would be typed; long texts are cut, because nobody reads them."""
    short = argument if len(argument) <= _SHOWN_CHARACTERS or argument.startswith("arn:") else None
    return shlex.quote(short if short is not None else f"{argument[:_SHOWN_CHARACTERS]}…")
