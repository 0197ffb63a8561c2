"""The command on a stack in this process: whoever waits lets the stack's time pass."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from infra.ops.cli import app
from infra.ops.core.audit import audit_file
from infra.ops.core.target import Resource, Target
from tests.path.conftest import OpenShop, open_shop
from tests.path.mortal_shop import Post, open_mortal_shop
from tests.path.shop import Shop

__all__ = ["open_shop"]


@dataclass(frozen=True)
class Operator:
    """Types commands."""

    target: Target

    def type(self, *words: str, answer: str | None = None) -> Result:
        return CliRunner().invoke(app, list(words), obj=self.target, input=answer)

    def asks(self, *words: str) -> Any:
        """What a command that succeeds answers as JSON."""
        result = self.type(*words, "--json")
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)

    def audit(self) -> list[dict[str, Any]]:
        path = audit_file()
        return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []


@pytest.fixture(autouse=True)
def state_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.delenv("POSTROOM_STACK", raising=False)


@pytest.fixture
def post() -> Post:
    return Post()


@pytest.fixture
def shop(open_shop: OpenShop, post: Post) -> Shop:
    return open_mortal_shop(open_shop, post)


@pytest.fixture
def target_of() -> Callable[[Shop], Target]:
    def target(shop: Shop) -> Target:
        resources = [
            Resource(one["logicalId"], one["type"], one["physicalId"])
            for one in shop.stack.deployed.listing()
        ]
        session = shop.aws.session()
        return Target("local", session, resources, clock=shop.clock.now, sleep=shop.run_for, by="olu")

    return target


@pytest.fixture
def operator(shop: Shop, target_of: Callable[[Shop], Target]) -> Operator:
    return Operator(target_of(shop))
