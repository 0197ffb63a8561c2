"""The adopted copy, built as it ships and deployed with `sam deploy` to MiniStack: a parcel goes through."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from infra.deploy_local.front import Front
from infra.deploy_local.ministack import MiniStack, running
from infra.deploy_local.stack import Stack
from infra.deploy_local.workspace import Workspace
from infra.local.client import Client, jobs_of
from infra.local.story import NotAsToldError
from infra.machine import architecture

PATIENCE_SECONDS = 180.0
"""A first call starts a process, and a mapping of MiniStack looks for messages about once a second."""

Tell = Callable[[str], None]


def deploy(copy: Path, stack_name: str, program: Path, tell: Tell) -> None:
    """Build, deploy, send the parcel of docs/request.json, follow it, delete. `program` is MiniStack's.

    Raises `CommandFailed`, `NotReady`, `TimeoutError` or `NotAsToldError` when it does not come out so.
    """
    with (
        TemporaryDirectory(prefix="adopt-logs-") as logs,
        running(program, copy, Path(logs) / "ministack") as ministack,
    ):
        workspace = Workspace(copy, Path(logs) / "build")
        stack = Stack(stack_name, ministack, copy / ".venv-sam" / "bin" / "sam", copy, Path(logs) / "sam")
        _deploy(workspace, stack, tell)
        _send(_front(workspace, stack, ministack).client("ada@example.com"), copy, tell)
        stack.delete()
        tell("sam delete")


def _deploy(workspace: Workspace, stack: Stack, tell: Tell) -> None:
    workspace.build(architecture())
    tell("sam build, as it ships")
    workspace.leave_out_what_is_refused()
    stack.deploy({"Stage": "dev", "Architecture": architecture()})
    tell(f"sam deploy to MiniStack: {len(stack.resources())} resources")


def _front(workspace: Workspace, stack: Stack, ministack: MiniStack) -> Front:
    front = Front(ministack, stack, workspace.template)
    front.add_routes()
    front.mend_mappings()
    return front


def _send(client: Client, copy: Path, tell: Tell) -> None:
    request = json.loads((copy / "docs" / "request.json").read_text(encoding="utf-8"))
    answer = client.command(request["path"], "request-1", request["body"])
    if answer.status != 202:
        raise NotAsToldError(f"POST {request['path']}: {answer.status} {answer.body.decode()}")
    status = client.follow(answer.headers["location"], PATIENCE_SECONDS)
    states = {name: job["state"] for name, job in jobs_of(status).items()}
    if set(states.values()) != {"completed"}:
        raise NotAsToldError(f"GET {answer.headers['location']}: {states}")
    tell(f"POST {request['path']}: 202, and the deployed functions have completed {', '.join(states)}")
    client.close()
