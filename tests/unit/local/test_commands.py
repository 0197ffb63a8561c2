"""`python -m infra.local`, as typed."""

from __future__ import annotations

import json
import re
import signal
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from infra.local.__main__ import main
from infra.local.local_run import LocalRun, RunOptions
from infra.local.servers import Servers
from infra.local.up import banner
from tests.unit.local.commands import API, ROOT, TOKEN, Command


@pytest.fixture
def up() -> Iterator[Command]:
    command = Command("up", "--port", "0", "--no-reload")
    yield command
    command.close()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_up_serves_what_it_prints_and_ends_well_when_told_to(up: Command, number: signal.Signals) -> None:
    request = urllib.request.Request(
        f"{up.find(API)}/jobs/none-such", headers={"authorization": f"Bearer {up.find(TOKEN)}"}
    )

    with pytest.raises(urllib.error.HTTPError) as answer:
        urllib.request.urlopen(request, timeout=10)
    problem = json.loads(answer.value.read())
    begun = time.monotonic()
    code = up.end(number)

    assert (answer.value.code, problem["status"]) == (404, 404)
    assert "Not proven here: permissions (IAM)" in up.text
    assert (code, time.monotonic() - begun < 10) == (0, True)


def test_port_that_is_taken_is_said_in_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    servers = Servers()
    taken = servers.protocol(lambda: None)  # type: ignore[arg-type,return-value]

    code = main(["up", "--port", str(taken)])
    servers.close()

    assert code == 2
    # the run takes five ports from the given one on, and another process may hold one of those, too
    said = re.fullmatch(r"port (\d+) of 127\.0\.0\.1 is taken: choose another\n", capsys.readouterr().err)
    assert said is not None
    assert int(said[1]) in range(taken, taken + 5)


@pytest.mark.parametrize(
    "given",
    [
        pytest.param(["up", "--port", "65532"], id="no-room-for-the-next-four"),
        pytest.param(["up", "--port", "-1"], id="negative"),
        pytest.param(["up", "--port", "http"], id="no-number"),
        pytest.param(["up", "--concurrency", "0"], id="too-small"),
    ],
)
def test_number_that_cannot_be_is_refused_and_its_option_named(
    given: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(given)

    assert ended.value.code == 2
    assert re.search(rf"argument {given[1]}: '{given[2]}' is no whole number from", capsys.readouterr().err)


@pytest.mark.parametrize("given", ["X", "=x", ""])
def test_parameter_without_name_or_value_is_refused(given: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["up", "--parameter", given])

    assert ended.value.code == 2
    assert f"argument --parameter: {given!r} is not NAME=VALUE" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("SnapStart=maybe", "parameter SnapStart must be one of off, on"),
        ("SnapStart=", "parameter SnapStart must be one of off, on"),
        ("Architecture=pdp11", "parameter Architecture must be one of arm64, x86_64"),
        ("Colour=red", "parameters without a value, or unknown to the template: Colour"),
    ],
)
def test_parameter_that_the_template_does_not_take_is_said_in_a_line(
    given: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["up", "--port", "0", "--parameter", given])

    assert (code, capsys.readouterr().err) == (2, f"the template: {said}\n")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        pytest.param(b"Resources: [\n", "line 2: ", id="no-yaml"),
        pytest.param(b"Resources: {A: \x00}", "it is no YAML", id="character"),
        pytest.param(b"\xff\xfe", "is not UTF-8", id="no-text"),
        pytest.param(b"", "it has no Resources", id="empty"),
        pytest.param(b"- Resources", "it has no Resources", id="list"),
        pytest.param(b"Resources: {A: 3}", "A has no Type", id="resource"),
        pytest.param(b"Resources: {A: {Type: AWS::Serverless::Function}}", "[A]", id="refused-by-sam"),
        pytest.param(None, "No such file", id="missing"),
    ],
)
def test_template_that_is_none_is_said_in_a_line(
    content: bytes | None, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    template = tmp_path / "template.yaml"
    if content is not None:
        template.write_bytes(content)

    code = main(["up", "--port", "0", "--template", str(template)])

    error = capsys.readouterr().err
    assert (code, said in error, error.count("\n")) == (2, True, 1), error


def test_handler_that_is_not_there_is_told_first_with_every_function_it_hits(tmp_path: Path) -> None:
    template = tmp_path / "template.yaml"
    text = (ROOT / "template.yaml").read_text(encoding="utf-8")
    misspelt = re.sub(r"handlers\.\w+\.handler", "handlers.mispelt.handler", text, count=2)
    template.write_text(misspelt, encoding="utf-8")
    run = LocalRun(RunOptions(template=template))
    run.start()

    said = banner(run)
    run.stop()

    line = next(line for line in said.splitlines() if line.startswith("✗"))
    hit = [name for name, each in run.stack.functions.items() if "mispelt" in each.settings.handler]
    assert "handlers.mispelt.handler cannot be imported: ModuleNotFoundError: No module" in line
    assert line.endswith(f"Without it: {', '.join(hit)}")
    assert len(hit) == 2
    assert said.index(line) < said.index("Not proven here")


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
