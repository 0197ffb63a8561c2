"""The rehearsal's own parts: what it reads from the template, what it ends, what it changes."""

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from infra.deploy_local import mappings
from infra.deploy_local.ministack import settings
from infra.deploy_local.not_shown import NOT_SHOWN
from infra.deploy_local.refused import refused, without
from infra.deploy_local.routes import Gateway, Issuer, Route, routes
from infra.deploy_local.workspace import ROOT, Workspace
from infra.expand import expand, read_template, transform
from infra.processes import CommandFailed, Shell

SLEEPER = "import time; print('ready', flush=True); time.sleep(60)"


@pytest.fixture(scope="module")
def template() -> dict[str, Any]:
    return expand(ROOT / "template.yaml")


def test_routes_are_those_of_the_template(template: dict[str, Any]) -> None:
    found = {route.key: route for route in routes(template)}

    assert found["POST /checkout"] == Route(
        "POST /checkout", "CheckoutFunctionAliaslive", "2.0", authorized=True
    )
    assert found["GET /jobs/{id}"].function == found["DELETE /jobs/{id}"].function == "JobsFunctionAliaslive"


def test_route_to_a_function_names_the_function() -> None:
    source = read_template(ROOT / "template.yaml")
    for name in ("AutoPublishAlias", "VersionDeletionPolicy", "VersionDescription"):
        del source["Resources"]["CheckoutFunction"]["Properties"][name]

    found = {route.function for route in routes(transform(source))}

    assert "CheckoutFunction" in found


class FakeGateway:
    """As much of an `apigatewayv2` client as is called."""

    def __init__(self, *keys: str) -> None:
        self.routes = [{"RouteKey": key} for key in keys]
        self.authorizers: list[dict[str, Any]] = []
        self.integrations: list[dict[str, Any]] = []

    def get_routes(self, **_: Any) -> dict[str, Any]:
        return {"Items": self.routes}

    def get_authorizers(self, **_: Any) -> dict[str, Any]:
        return {"Items": self.authorizers}

    def create_authorizer(self, **request: Any) -> dict[str, Any]:
        self.authorizers.append({**request, "AuthorizerId": "a1"})
        return self.authorizers[-1]

    def create_integration(self, **request: Any) -> dict[str, Any]:
        self.integrations.append({**request, "IntegrationId": f"i{len(self.integrations)}"})
        return self.integrations[-1]

    def create_route(self, **request: Any) -> dict[str, Any]:
        self.routes.append(request)
        return request


ISSUER = Issuer("https://issuer.example", "web")
WANTED = [
    Route("POST /checkout", "CheckoutFunction", "2.0", authorized=True),
    Route("GET /health", "HealthFunction", "2.0", authorized=False),
]
ARNS = {"CheckoutFunction": "arn:checkout", "HealthFunction": "arn:health"}


def test_missing_route_is_added_with_its_function_and_its_authorizer() -> None:
    client = FakeGateway("GET /health")

    added = Gateway(client, "api").add(WANTED, ISSUER, ARNS)

    assert added == 1
    (integration,) = client.integrations
    assert (integration["IntegrationUri"], integration["PayloadFormatVersion"]) == ("arn:checkout", "2.0")
    route = client.routes[-1]
    assert (route["RouteKey"], route["Target"]) == ("POST /checkout", "integrations/i0")
    assert (route["AuthorizationType"], route["AuthorizerId"]) == ("JWT", "a1")
    assert client.authorizers[0]["JwtConfiguration"] == {"Issuer": ISSUER.url, "Audience": ["web"]}


def test_public_route_is_added_without_one() -> None:
    client = FakeGateway("POST /checkout")

    Gateway(client, "api").add(WANTED, ISSUER, ARNS)

    assert "AuthorizationType" not in client.routes[-1]


def test_routes_that_are_there_are_left_alone() -> None:
    client = FakeGateway("POST /checkout", "GET /health")

    assert Gateway(client, "api").add(WANTED, ISSUER, ARNS) == 0
    assert client.authorizers == client.integrations == []


def test_alarm_on_several_metrics_is_left_out_and_nothing_else() -> None:
    plain = {"Type": "AWS::CloudWatch::Alarm", "Properties": {"MetricName": "Errors"}}
    mathematical = {"Type": "AWS::CloudWatch::Alarm", "Properties": {"Metrics": [{"Id": "age"}]}}
    template = {"Outputs": {}, "Resources": {"Plain": plain, "Mathematical": mathematical}}

    left_out = refused(template)

    assert left_out == ["Mathematical"]
    assert without(template, left_out) == {"Outputs": {}, "Resources": {"Plain": plain}}


class FakeLambda:
    """As much of a `lambda` client as is called."""

    def __init__(self, *listed: dict[str, Any]) -> None:
        self.listed = list(listed)
        self.updates: list[dict[str, Any]] = []

    def get_paginator(self, _operation: str) -> "FakeLambda":
        return self

    def paginate(self) -> Iterator[dict[str, Any]]:
        yield {"EventSourceMappings": self.listed}

    def update_event_source_mapping(self, **request: Any) -> None:
        self.updates.append(request)


def test_concurrency_that_came_as_text_is_told_as_a_number() -> None:
    client = FakeLambda(
        {"UUID": "queue", "ScalingConfig": {"MaximumConcurrency": "2"}}, {"UUID": "stream", "BatchSize": 100}
    )

    assert mappings.mend(client) == 1
    assert client.updates == [{"UUID": "queue", "ScalingConfig": {"MaximumConcurrency": 2}}]


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path, {"PATH": os.environ["PATH"]}, tmp_path / "log")


def test_command_that_fails_is_told_with_the_end_of_what_it_said(shell: Shell) -> None:
    with pytest.raises(CommandFailed, match=r"(?s)ended with 3.*out of luck"):
        shell.run(sys.executable, "-c", "import sys; print('out of luck'); sys.exit(3)")


def test_program_ends_with_the_block_whatever_it_started(shell: Shell, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    heard = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    child = f"pipe = open('pipe', 'w'); {SLEEPER}; pipe.write('I live')"
    script = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"

    with shell.running(sys.executable, "-c", script) as process:
        while "ready" not in shell.log.read_text(encoding="utf-8"):
            assert process.poll() is None

    os.set_blocking(heard, True)
    assert os.read(heard, 100) == b""
    assert process.returncode == -signal.SIGTERM
    os.close(heard)


def test_program_ends_when_the_block_is_interrupted(shell: Shell) -> None:
    with pytest.raises(KeyboardInterrupt), shell.running(sys.executable, "-c", SLEEPER) as process:
        raise KeyboardInterrupt

    assert process.returncode is not None


def test_emulator_listens_on_the_loopback_interface_only(tmp_path: Path) -> None:
    environ = settings(4566, tmp_path)

    assert (environ["BIND_HOST"], environ["IOT_MTLS_ENABLED"]) == ("127.0.0.1", "0")
    assert not [name for name in environ if "KEY" in name or "TOKEN" in name]


def test_copy_is_changed_and_the_original_is_not(tmp_path: Path) -> None:
    workspace = Workspace.make(tmp_path / "copy", tmp_path / "log")
    loyalty = Path("handlers") / "shop" / "loyalty.py"
    before = (ROOT / loyalty).read_text(encoding="utf-8")

    workspace.give_more_points()

    assert (workspace.path / loyalty).read_text(encoding="utf-8") != before
    assert (ROOT / loyalty).read_text(encoding="utf-8") == before


@pytest.mark.parametrize(("what", "command"), NOT_SHOWN)
def test_what_is_not_shown_stands_in_the_readme_with_its_command(what: str, command: str) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")

    assert command in readme
    assert what in readme
