"""Where the command finds its stack: the local run's own listing, or CloudFormation's."""

from collections.abc import Iterator
from pathlib import Path

import boto3
import pytest
from botocore.exceptions import ClientError
from botocore.stub import Stubber
from typer.testing import CliRunner

from infra.local.local_run import LocalRun, RunOptions
from infra.ops.cli import app
from infra.ops.core.errors import NoStack, Refused
from infra.ops.core.target import Target, on_aws

NOBODY_LISTENS = "http://127.0.0.1:9"


@pytest.fixture
def run() -> Iterator[LocalRun]:
    run = LocalRun(RunOptions())
    run.start()
    yield run
    run.stop()


def test_the_local_run_is_found_and_reached_over_http(run: LocalRun) -> None:
    answer = CliRunner().invoke(app, ["doctor", "--endpoint", run.urls.api])

    assert answer.exit_code == 0
    assert "✓ webhooks: 0 dead letters" in answer.stdout


@pytest.mark.parametrize("words", [["dlq", "ls"], ["dlq", "redrive", "receipts", "--yes"], ["jobs", "ls"]])
def test_without_a_stack_there_is_a_sentence_that_says_how_to_get_one(words: list[str]) -> None:
    answer = CliRunner().invoke(app, [*words, "--endpoint", NOBODY_LISTENS])

    assert answer.exit_code == 2
    assert "make up" in answer.stderr
    assert "Traceback" not in answer.output


def test_two_stacks_at_once_are_refused_and_a_setting_gives_way() -> None:
    both = CliRunner().invoke(app, ["jobs", "ls", "--stack", "shop", "--local"])
    setting = CliRunner().invoke(
        app, ["jobs", "ls", "--local", "--endpoint", NOBODY_LISTENS], env={"POSTROOM_STACK": "shop"}
    )

    assert (both.exit_code, "give one of them" in " ".join(both.stderr.split())) == (1, True)
    assert (setting.exit_code, "make up" in setting.stderr) == (2, True)


def test_without_a_region_it_says_how_to_give_one(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_DEFAULT_REGION", "AWS_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")

    answer = CliRunner().invoke(app, ["jobs", "ls", "--stack", "shop"])

    assert (answer.exit_code, "--region NAME" in " ".join(answer.stderr.split())) == (2, True)


def test_a_stack_on_aws_is_found_through_cloudformation() -> None:
    session = _Session()
    page = {
        "LogicalResourceId": "JobsTable",
        "PhysicalResourceId": "shop-JobsTable-1",
        "ResourceType": "AWS::DynamoDB::Table",
    }
    session.stubber.add_response(
        "list_stack_resources", {"StackResourceSummaries": [_timed(page)]}, {"StackName": "shop"}
    )

    target = on_aws("shop", session)

    assert target.name == "shop"
    assert target.physical_id("JobsTable") == "shop-JobsTable-1"
    with pytest.raises(NoStack, match="ShopTable"):
        target.physical_id("ShopTable")


def test_a_stack_that_is_not_there_is_told_by_aws() -> None:
    session = _Session()
    session.stubber.add_client_error("list_stack_resources", "ValidationError", "Stack shop does not exist")

    with pytest.raises(ClientError, match="does not exist"):
        on_aws("shop", session)


def test_every_command_shows_examples() -> None:
    for words in (["dlq", "redrive"], ["dlq", "skip"], ["jobs", "cancel"], ["outbox", "ls"], ["doctor"]):
        help_text = CliRunner().invoke(app, [*words, "--help"]).stdout
        assert "$ postroom" in help_text
        assert "--json" in help_text
        assert "--stack" in help_text


class _Session(boto3.Session):
    """A session with one client, whose answers are written beforehand."""

    def __init__(self) -> None:
        super().__init__(
            aws_access_key_id="testing", aws_secret_access_key="testing", region_name="eu-west-1"
        )
        self.made = super().client("cloudformation")
        self.stubber = Stubber(self.made)
        self.stubber.activate()

    def client(self, *_: object, **__: object) -> object:  # type: ignore[override]
        return self.made


def _timed(summary: dict[str, str]) -> dict[str, object]:
    return {**summary, "LastUpdatedTimestamp": 0, "ResourceStatus": "CREATE_COMPLETE"}


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        pytest.param("def broken(:", r"queue_odd\.py, line 2: .*invalid syntax", id="syntax"),
        pytest.param("import nope_x", r"queue_odd\.py, line 2 .*: No module named 'nope_x'", id="import"),
        pytest.param("nobody", r"queue_odd\.py, line 2 .*: name 'nobody' is not defined", id="name"),
    ],
)
def test_a_subscriber_that_cannot_be_imported_is_named_with_line_and_reason(
    code: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = f"subscribers_with_{code.split()[0]}"
    (tmp_path / package).mkdir()
    (tmp_path / package / "queue_odd.py").write_text(f"\n{code}\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    target = Target("shop", _Session(), [], package=package)

    with pytest.raises(Refused, match=reason):
        target.job_types  # noqa: B018 - looking is what fails
