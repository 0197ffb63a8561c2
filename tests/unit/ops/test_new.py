"""`postroom new subscriber`: what it refuses, what it shows, and where it writes."""

import re
import subprocess
import sys
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from handlers.postroom.events import EventType
from handlers.shop.orders import ORDER_PAID
from infra import dashboard
from infra.ops.cli import app
from infra.ops.core.errors import Refused
from infra.scaffold.asked import Asked, EventSource, asked_for, event_sources
from infra.scaffold.block import block, with_block
from infra.scaffold.changes import ROOT, Change
from infra.scaffold.changes import new_subscriber as changes_for
from infra.scaffold.code import LINE_LENGTH, first_test, handler_file
from infra.scaffold.kinds import Kind

TODAY = date(2026, 12, 1)
PAID = EventSource(ORDER_PAID, "ORDER_PAID", "handlers.shop.orders")
TEMPLATE = (ROOT / "template.yaml").read_text(encoding="utf-8")


def asked(name: str = "fraud", source: EventSource = PAID, kind: Kind = Kind.COMMIT) -> Asked:
    return asked_for(name, source.name, kind, TODAY, {source.name: source})


def new_subscriber(*words: str) -> Result:
    return CliRunner().invoke(app, ["new", "subscriber", *words])


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("Fraud", id="capital"),
        pytest.param("look-", id="dash-last"),
        pytest.param("second--look", id="two-dashes"),
        pytest.param("second_look", id="underscore"),
        pytest.param("f", id="one-letter"),
        pytest.param("f" * 21, id="too-long"),
        pytest.param("../fraud", id="path"),
        pytest.param("betrüger", id="other-letters"),
        pytest.param("", id="empty"),
    ],
)
def test_a_bad_name_is_refused_with_the_rule(name: str) -> None:
    answer = new_subscriber(name, "--on", "order.paid")

    assert answer.exit_code == 1
    assert f"{name!r} is no name for a subscriber: 2 to 20 characters, words of a to z" in answer.stderr


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("loyalty", "handlers/queue_loyalty.py is there already"),
        ("relay", "template.yaml already has RelayFunction, RelayLogs, RelayRole"),
    ],
)
def test_a_taken_name_is_refused_and_says_what_has_it(name: str, reason: str) -> None:
    answer = new_subscriber(name, "--on", "order.paid")

    assert answer.exit_code == 1
    assert reason in answer.stderr
    assert (ROOT / "template.yaml").read_text(encoding="utf-8") == TEMPLATE


def test_an_unknown_event_is_refused_and_the_known_ones_are_named() -> None:
    answer = new_subscriber("fraud", "--on", "order.lost")

    assert answer.exit_code == 1
    assert "there is no event 'order.lost'. There is: " in answer.stderr
    assert "order.paid" in answer.stderr


def test_an_event_that_is_taken_in_order_is_refused() -> None:
    ordered = EventType("account.credited", 1, ORDER_PAID.model, ordered=True)

    with pytest.raises(Refused, match="goes through the FIFO topic"):
        asked(source=EventSource(ordered, "CREDITED", "handlers.shop.accounts"))


def test_a_dry_run_shows_a_diff_of_all_files_and_writes_nothing() -> None:
    answer = new_subscriber("fraud", "--on", "order.paid", "--since", "2026-12-01", "--dry-run")

    assert answer.exit_code == 0, answer.output
    shown = re.findall(r"^\+\+\+ b/(.+)$", answer.stdout, re.MULTILINE)
    assert shown == ["handlers/queue_fraud.py", "tests/unit/subscribers/test_fraud.py", "template.yaml"]
    assert not [line for line in answer.stdout.splitlines() if re.match(r"-(?!--)", line)]
    assert not (ROOT / "handlers" / "queue_fraud.py").exists()
    assert (ROOT / "template.yaml").read_text(encoding="utf-8") == TEMPLATE


def test_an_event_is_imported_from_where_it_is_defined() -> None:
    source = event_sources()["order.paid"]

    assert (source.module, source.constant) == ("handlers.shop.orders", "ORDER_PAID")


def test_the_block_follows_the_last_subscribers_and_all_else_stays() -> None:
    after = with_block(TEMPLATE, asked())

    headers = re.findall(r"^  # ---- (\w+)", after, re.MULTILINE)
    functions = re.findall(r"handlers\.(\w+)\.handler", after)
    assert "Fraud" in headers
    assert max(i for i, name in enumerate(functions) if name.startswith("queue_")) == functions.index(
        "queue_fraud"
    )
    assert dashboard.written(after.replace(f"{block(asked())}\n", "")) == TEMPLATE


def test_in_a_template_without_subscribers_the_block_ends_the_resources() -> None:
    names = ("ShopTable", "JobsTable", "EventsTopic", "UndeliveredQueue", "AlarmsTopic")
    resources = "".join(f"  {name}: {{}}\n" for name in names)
    template = f"Parameters:\n  LogRetentionDays: {{}}\n\nResources:\n{resources}\nOutputs: {{}}\n"

    after = with_block(template, asked())

    assert after == template.replace("Outputs", f"{block(asked())}\nOutputs")


def test_a_template_without_what_the_block_refers_to_is_refused() -> None:
    with pytest.raises(Refused, match="lacks InvoiceBucket"):
        with_block(TEMPLATE.replace("  InvoiceBucket:", "  Bucket:"), asked(kind=Kind.CALL))


def test_outside_a_repository_it_refuses(tmp_path: Path) -> None:
    with pytest.raises(Refused, match=r"there is no template\.yaml in "):
        changes_for("fraud", "order.paid", Kind.COMMIT, TODAY, tmp_path)


def test_a_file_that_is_there_is_never_written_over(tmp_path: Path) -> None:
    (tmp_path / "queue_fraud.py").write_text("mine", encoding="utf-8")

    with pytest.raises(FileExistsError):
        Change(Path("queue_fraud.py"), None, "theirs").make(tmp_path)

    assert (tmp_path / "queue_fraud.py").read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize("kind", Kind)
def test_long_names_are_written_as_the_formatter_would(kind: Kind, tmp_path: Path) -> None:
    long = replace(PAID.type, name="subscription.renewed_by_somebody_else")
    source = EventSource(long, "SUBSCRIPTION_RENEWED_BY_SOMEBODY_ELSE", "handlers.shop.subscription_renewals")
    begun = asked("f" * 9 + "-" + "f" * 10, source, kind)
    (tmp_path / "handler.py").write_text(handler_file(begun), encoding="utf-8")
    (tmp_path / "test.py").write_text(first_test(begun), encoding="utf-8")

    formatted = ["-m", "ruff", "format", "--check", "--isolated", f"--line-length={LINE_LENGTH}"]
    ended = subprocess.run([sys.executable, *formatted, tmp_path], capture_output=True, text=True)

    assert ended.returncode == 0, ended.stdout + ended.stderr
