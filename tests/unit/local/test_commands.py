"""`python -m infra.local`, as typed."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from infra.local.__main__ import main
from infra.local.client import Client, cart
from infra.local.servers import Servers

ROOT = Path(__file__).parents[3]
SOON_SECONDS = 60.0


class Command:
    """A running command and what it has printed so far."""

    def __init__(self, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "infra.local", *arguments],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.lines: list[str] = []
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    def find(self, pattern: str) -> str:
        """Wait for a line that matches. Returns the match's first group."""
        end = time.monotonic() + SOON_SECONDS
        while not (found := re.search(pattern, self.text, re.MULTILINE)):
            assert time.monotonic() < end, f"{pattern} is not in:\n{self.text}"
            time.sleep(0.02)
        return found[1]

    def end(self, number: signal.Signals) -> int:
        self.process.send_signal(number)
        code = self.process.wait(timeout=20)
        self._reader.join()
        return code

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        self._reader.join()
        if self.process.stdout:
            self.process.stdout.close()

    def _read(self) -> None:
        for line in self.process.stdout or ():
            self.lines.append(line.rstrip("\n"))


@pytest.fixture
def up() -> Iterator[Command]:
    command = Command("up", "--port", "0", "--no-reload")
    yield command
    command.close()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_up_serves_what_it_prints_and_ends_well_when_told_to(up: Command, number: signal.Signals) -> None:
    client = Client(up.find(r"^  API +(http://127\.0\.0\.1:\d+)$"), up.find(r"^  TOKEN=(\S+)$"))

    answer = client.checkout("order-1", cart("ada@example.com"))
    status = client.follow(answer.headers["location"], SOON_SECONDS)
    client.close()
    begun = time.monotonic()
    code = up.end(number)

    assert (answer.status, status["state"]) == (202, "completed")
    assert "Not proven here: permissions (IAM)" in up.text
    assert (code, time.monotonic() - begun < 10) == (0, True)


def test_failure_shows_its_traceback_once_and_then_the_retries(up: Command) -> None:
    url = up.find(r"^  API +(http://127\.0\.0\.1:\d+)$")
    client = Client(url, up.find(r"^  TOKEN=(\S+)$"))
    up.find(r"(Place an order)")
    client.post("/_control/mail/outage")
    location = client.checkout("order-1", cart("ada@example.com")).headers["location"]
    up.find(r"(↻ receipts +comes back .*received 2 times)")
    client.delete("/_control/mail/outage")

    client.follow(location, SOON_SECONDS)
    client.close()

    assert up.text.count("The above exception was the direct cause") == 1
    assert up.text.count("✗ job.attempt_failed") >= 2
    up.find(r"(✓ receipts +done .*received \d+ times)")


def test_port_that_is_taken_is_said_in_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    servers = Servers()
    taken = servers.protocol(lambda: None)  # type: ignore[arg-type,return-value]

    code = main(["up", "--port", str(taken)])
    servers.close()

    assert code == 2
    # the run takes four ports from the given one on, and another process may hold one of those, too
    said = re.fullmatch(r"port (\d+) of 127\.0\.0\.1 is taken: choose another\n", capsys.readouterr().err)
    assert said is not None
    assert int(said[1]) in range(taken, taken + 4)


def test_help_shows_examples(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--help"])

    assert ended.value.code == 0
    assert "python -m infra.local up --isolated" in capsys.readouterr().out


def test_template_that_cannot_run_here_is_said_in_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    template = tmp_path / "template.yaml"
    text = (ROOT / "template.yaml").read_text(encoding="utf-8")
    search = "Resources:\n  Search:\n    Type: AWS::OpenSearchService::Domain\n"
    template.write_text(text.replace("Resources:\n", search, 1), encoding="utf-8")

    code = main(["up", "--port", "0", "--template", str(template)])

    assert code == 2
    assert capsys.readouterr().err.startswith(
        "the template: Search is of type AWS::OpenSearchService::Domain"
    )
