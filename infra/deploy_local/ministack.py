"""MiniStack: an emulator that CloudFormation templates can be deployed to, with Lambda functions that run."""

from __future__ import annotations

import os
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from botocore.session import get_session

from infra.local.servers import LOOPBACK
from infra.processes import Shell, free_port, tail

REGION = "eu-west-1"
ACCOUNT = "123456789012"
STARTING_SECONDS = 30.0


class NotReady(Exception):
    """It ended, or did not answer in time, when it was started."""


@dataclass(frozen=True)
class MiniStack:
    """A running one. Nothing in it outlives its process."""

    port: int
    process: int

    @property
    def url(self) -> str:
        return f"http://{LOOPBACK}:{self.port}"

    @property
    def environ(self) -> dict[str, str]:
        """What a program needs to take it for AWS, and to find no other."""
        return {
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_DEFAULT_REGION": REGION,
            "AWS_REGION": REGION,
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def client(self, service: str) -> Any:
        return get_session().create_client(
            service,
            region_name=REGION,
            endpoint_url=self.url,
            aws_access_key_id="test",
            aws_secret_access_key="test",  # noqa: S106 (MiniStack asks for no other)
        )

    def reset(self) -> None:
        """Forget everything."""
        _post(f"{self.url}/_ministack/reset")


@contextmanager
def running(program: Path, directory: Path, log: Path) -> Iterator[MiniStack]:
    """Start `program`, with its files in `directory`, until the block ends. Raises `NotReady`."""
    port = free_port()
    shell = Shell(directory, settings(port, directory), log)
    with shell.running(str(program)) as process:
        ministack = MiniStack(port, process.pid)
        end = time.monotonic() + STARTING_SECONDS
        while not _answers(ministack):
            if process.poll() is not None or time.monotonic() > end:
                raise NotReady(f"MiniStack did not start. {tail(shell.log)}")
            time.sleep(0.1)
        yield ministack


def settings(port: int, directory: Path) -> Mapping[str, str]:
    """Its variables. The functions that it runs inherit them, so there is nothing else among them.

    It would listen on every interface, and for MQTT on ports of its own.
    Source: the README of the package, https://pypi.org/project/ministack/1.5.33/
    """
    return {
        "PATH": os.environ.get("PATH", ""),
        "HOME": str(directory),
        "TMPDIR": str(directory),
        "BIND_HOST": LOOPBACK,
        "GATEWAY_PORT": str(port),
        "IOT_MTLS_ENABLED": "0",
        "LAMBDA_EXECUTOR": "local",
        "MINISTACK_ACCOUNT_ID": ACCOUNT,
        "MINISTACK_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
    }


def _answers(ministack: MiniStack) -> bool:
    try:
        with urllib.request.urlopen(f"{ministack.url}/_ministack/health", timeout=5):  # noqa: S310 (ours)
            return True
    except OSError:
        return False


def _post(url: str) -> None:
    with urllib.request.urlopen(urllib.request.Request(url, method="POST"), timeout=30):  # noqa: S310 (ours)
        pass
