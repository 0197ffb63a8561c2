"""The example business on `python -m infra.local`, as typed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest

from infra.local.cart import cart
from infra.local.client import Client
from infra.local.shows import main
from tests.unit.local.commands import API, SOON_SECONDS, TOKEN, Command


@pytest.fixture
def up() -> Iterator[Command]:
    command = Command("up", "--port", "0", "--no-reload")
    yield command
    command.close()


def test_the_request_that_up_shows_is_accepted_and_worked_on(up: Command) -> None:
    api, token = up.find(API), up.find(TOKEN)
    path = up.find(rf"^  curl -i {re.escape(api)}(/\S+) ")
    body = up.find(r"-d '(\{.+\})'$")
    client = Client(api, token)

    answer = client.command("/checkout", "order-1", json.loads(body))
    status = client.follow(answer.headers["location"], SOON_SECONDS)
    client.close()

    assert (path, answer.status, status["state"]) == ("/checkout", 202, "completed")


def test_failure_shows_its_traceback_once_and_then_the_retries(up: Command) -> None:
    client = Client(up.find(API), up.find(TOKEN))
    client.post("/_control/mail/outage")
    location = client.command("/checkout", "order-1", cart("ada@example.com")).headers["location"]
    up.find(r"(↻ receipts +comes back .*received 2 times)")
    client.delete("/_control/mail/outage")

    client.follow(location, SOON_SECONDS)
    client.close()

    assert up.text.count("The above exception was the direct cause") == 1
    assert up.text.count("✗ job.attempt_failed") >= 2
    up.find(r"(✓ receipts +done .*received \d+ times)")


def test_help_shows_examples(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--help"])

    assert ended.value.code == 0
    assert "python -m infra.local.shows demo" in capsys.readouterr().out
