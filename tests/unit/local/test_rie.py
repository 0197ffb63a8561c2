"""What is taken for a right answer of a built function, and what is not."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from infra.expand import read_template
from infra.local.functions import FunctionError, Invocation, RunnerError
from infra.rie.emulator import Package, Runtime, answered
from infra.rie.judgement import trigger_of, wrong
from infra.rie.packages import package_of
from infra.sources import deployed_from

ROOT = Path(__file__).parents[3]
MESSAGES = {"Records": [{"messageId": "m1"}, {"messageId": "m2"}]}
CHANGES = {"Records": [{"dynamodb": {"SequenceNumber": "100"}}]}


def invocation(answer: Any = None, event: Any = None, error: FunctionError | None = None) -> Invocation:
    return Invocation("Function", event or {}, "request", 0.0, 1.0, answer, error)


@pytest.mark.parametrize(
    ("trigger", "event", "answer"),
    [
        pytest.param(
            "api", {}, {"statusCode": 202, "headers": {"location": "/jobs/1"}, "body": "{}"}, id="202"
        ),
        pytest.param("api", {}, {"statusCode": 422, "body": "{}"}, id="422"),
        pytest.param("queue", MESSAGES, {"batchItemFailures": []}, id="all-done"),
        pytest.param("queue", MESSAGES, {"batchItemFailures": [{"itemIdentifier": "m2"}]}, id="one-failed"),
        pytest.param("stream", CHANGES, {"batchItemFailures": [{"itemIdentifier": "100"}]}, id="stream"),
        pytest.param("schedule", {}, None, id="schedule"),
    ],
)
def test_right_answer_is_taken(trigger: str, event: Any, answer: Any) -> None:
    assert wrong(invocation(answer, event), trigger) is None


@pytest.mark.parametrize(
    ("trigger", "event", "answer"),
    [
        pytest.param("api", {}, {"statusCode": 500, "body": "{}"}, id="500"),
        pytest.param("api", {}, {"status": 200}, id="no-status-code"),
        pytest.param("api", {}, {"statusCode": 200, "body": {"id": 1}}, id="body-not-text"),
        pytest.param("queue", MESSAGES, None, id="nothing"),
        pytest.param("queue", MESSAGES, {"batchItemFailures": [{"itemIdentifier": "m3"}]}, id="of-another"),
        pytest.param("stream", CHANGES, {"batchItemFailures": None}, id="no-list"),
    ],
)
def test_wrong_answer_is_told(trigger: str, event: Any, answer: Any) -> None:
    assert wrong(invocation(answer, event), trigger)


def test_failed_import_is_told_whatever_the_trigger() -> None:
    error = FunctionError("Runtime.ImportModuleError", "No module named 'pydantic'")

    assert "No module named 'pydantic'" in (wrong(invocation(error=error), "schedule") or "")


def test_error_that_comes_with_status_200_is_an_error() -> None:
    body = {"errorType": "Runtime.ImportModuleError", "errorMessage": "No module named 'pydantic'"}

    with pytest.raises(RunnerError) as raised:
        answered(json.dumps(body).encode())

    assert raised.value.error.kind == "Runtime.ImportModuleError"


@pytest.mark.parametrize(
    ("body", "answer"),
    [(b"", None), (b"null", None), (b'{"batchItemFailures": []}', {"batchItemFailures": []})],
)
def test_answer_is_what_the_function_returned(body: bytes, answer: Any) -> None:
    assert answered(body) == answer


def test_entry_is_triggered_by_what_its_name_begins_with() -> None:
    assert trigger_of("handlers.queue_receipts.handler") == "queue"
    assert trigger_of("handlers.stream_relay.handler") == "stream"


@pytest.fixture
def built() -> dict[str, Any]:
    """The template as it is built: every function from one archive."""
    archives = {"CheckoutFunction": "CheckoutFunction.zip", "PdfLayer": "PdfLayer.zip"}
    return deployed_from(read_template(ROOT / "template.yaml"), archives)


def test_package_is_the_functions_directory_and_its_layers(built: dict[str, Any], tmp_path: Path) -> None:
    for name in ("CheckoutFunction", "PdfLayer"):
        (tmp_path / name).mkdir()

    package = package_of("InvoicesFunction", built, tmp_path)

    assert package.code == tmp_path / "CheckoutFunction"
    assert package.environ["PYTHONPATH"].split(":")[1:] == [str(tmp_path / "PdfLayer" / "python")]


LOOK_UP = """
import socket, sys
try:
    print(socket.getaddrinfo(sys.argv[1], 443, type=socket.SOCK_STREAM)[0][4][0])
except socket.gaierror as error:
    print(error.errno == socket.EAI_NONAME)
"""


@pytest.mark.parametrize(("name", "found"), [("127.0.0.1", "127.0.0.1"), ("hooks.postroom.example", "True")])
def test_function_looks_up_no_name_that_is_not_this_machine(tmp_path: Path, name: str, found: str) -> None:
    environ = {**os.environ, **Package(tmp_path, ()).environ}

    ran = subprocess.run(
        [sys.executable, "-c", LOOK_UP, name], env=environ, capture_output=True, text=True, check=True
    )

    assert ran.stdout.strip() == found


def test_function_that_was_not_built_is_told(built: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="CheckoutFunction was not built"):
        package_of("RelayFunction", built, tmp_path)


def test_emulator_listens_on_the_loopback_interface_only() -> None:
    command = Runtime(Path("rie"), Path("python")).command("handlers.x.handler", 1, 2)

    assert [part for part in command if ":" in part] == ["127.0.0.1:1", "127.0.0.1:2"]
