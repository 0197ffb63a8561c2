"""A new reaction to an event is one file and one block: the README's example, performed as it is printed."""

from collections import Counter
from typing import Any

import pytest

from infra import dashboard
from tests.path.clone import ROOT, Clone

EXAMPLES = ROOT / "docs" / "examples"
HANDLER, TEST = "handlers/queue_fraud.py", "tests/unit/subscribers/test_fraud.py"

EFFECT_ONCE = "tests/path/test_effect_once.py"

ORDER_AND_FOLLOW = """
import json
from datetime import UTC, datetime
from tests.path.shop import Shop

def follow(day):
    shop = Shop(opened=day.timestamp())
    answer = shop.checkout()
    queued = shop.states(answer.json["jobId"])
    shop.settle()
    status = shop.status(answer.json["jobId"])
    reviews = [item["pk"] for item in shop.shop_items() if item["sk"] == "review"]
    return {"job": answer.json["jobId"], "queued": queued, "status": status, "reviews": reviews}

before, after = datetime(2026, 11, 30, tzinfo=UTC), datetime(2026, 12, 1, tzinfo=UTC)
print(json.dumps({"before": follow(before), "after": follow(after)}))
"""


def add_the_example(clone: Clone) -> None:
    command = ("-m", "infra.ops.cli", "new", "subscriber", "fraud", "--on", "order.paid")
    clone.run(*command, "--since", "2026-12-01")
    for written, example in {HANDLER: "queue_fraud.py", TEST: "test_fraud.py"}.items():
        (clone.path / written).write_text((EXAMPLES / example).read_text(encoding="utf-8"), encoding="utf-8")
    clone.run("-m", "infra.contracts")


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Clone:
    return Clone.make(tmp_path_factory.mktemp("clone"))


@pytest.fixture(scope="module")
def files_before(clone: Clone) -> dict[str, str]:
    return clone.files()


@pytest.fixture(scope="module")
def extended(clone: Clone, files_before: dict[str, str]) -> Clone:
    add_the_example(clone)
    return clone


@pytest.fixture(scope="module")
def followed(extended: Clone) -> dict[str, Any]:
    """An order from before the subscriber, and one from after."""
    answer: dict[str, Any] = extended.answer(ORDER_AND_FOLLOW)
    return answer


@pytest.fixture(scope="module")
def passed(extended: Clone) -> Counter[str]:
    return extended.passed("fraud", TEST, EFFECT_ONCE)


def test_it_edits_no_producer_and_nothing_else(extended: Clone, files_before: dict[str, str]) -> None:
    after = extended.files()

    assert after.keys() - files_before.keys() == {HANDLER}
    assert {name for name in files_before if after[name] != files_before[name]} == {"template.yaml"}
    block = (EXAMPLES / "fraud.yaml").read_text(encoding="utf-8")
    assert block in after["template.yaml"]
    assert (
        dashboard.written(after["template.yaml"].replace(f"{block}\n", "")) == files_before["template.yaml"]
    )


def test_the_dashboard_shows_it(extended: Clone) -> None:
    template = extended.files()["template.yaml"]

    assert "${FraudQueue.QueueName}" in template
    assert "${FraudLateAlarm.Arn}" in template


def test_the_file_is_the_one_that_the_readme_shows() -> None:
    file = (EXAMPLES / "queue_fraud.py").read_text(encoding="utf-8")

    assert f"```python\n{file}```" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_an_order_gets_the_new_job_done_and_shown(followed: dict[str, Any]) -> None:
    seen = followed["after"]

    assert seen["queued"].keys() == {"receipts", "invoices", "loyalty", "sales", "warehouse", "fraud"}
    assert {job["state"] for job in seen["status"].values()} == {"completed"}
    assert seen["status"]["fraud"]["result"] == {"review": "requested"}
    assert seen["reviews"] == [seen["job"].removesuffix("-paid")]


def test_orders_from_before_the_subscriber_do_not_wait_for_it(followed: dict[str, Any]) -> None:
    queued = followed["before"]["queued"]

    assert queued.keys() == {"receipts", "invoices", "loyalty", "sales", "warehouse"}


def test_the_template_still_keeps_every_house_rule(extended: Clone) -> None:
    assert "keeps all" in extended.run("-m", "infra.checks")


def test_the_test_that_every_handler_has_covers_it_by_itself(passed: Counter[str]) -> None:
    assert passed[EFFECT_ONCE] == 3


def test_its_own_test_passes(passed: Counter[str]) -> None:
    assert passed[TEST] == 3
