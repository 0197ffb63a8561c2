"""`postroom new subscriber` leaves a repository that passes every check, for either kind."""

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from infra.checks.template import reached, references
from infra.expand import parse
from tests.path.clone import ROOT, Clone

NAMES = ("archive", "second-look")
HANDLERS = ["handlers/queue_archive.py", "handlers/queue_second_look.py"]
TESTS = ["tests/unit/subscribers/test_archive.py", "tests/unit/subscribers/test_second_look.py"]
EFFECT_ONCE, ROLES = "tests/path/test_effect_once.py", "tests/template/test_roles.py"
UNUSED = ["W2001", "W8001"]
"""What cfn-lint says of parameters and conditions of which a part of the template makes no use."""
NEW = ("-m", "infra.ops.cli", "new", "subscriber")


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Clone:
    clone = Clone.make(tmp_path_factory.mktemp("clone"))
    clone.run(*NEW, "second-look", "--on", "order.paid")
    said = clone.run(*NEW, "archive", "--on", "order.paid", "--kind", "call")
    assert said.rstrip().endswith("A `make up` that runs takes it up when it is started again.")
    clone.run("-m", "infra.contracts")
    return clone


@pytest.fixture(scope="module")
def passed(clone: Clone) -> Counter[str]:
    own = [*NAMES, *(Path(path).stem for path in (*TESTS, ROLES))]
    return clone.passed(" or ".join(own), *TESTS, EFFECT_ONCE, ROLES)


def test_its_code_is_formatted_and_clean(clone: Clone) -> None:
    clone.run("-m", "ruff", "format", "--check", *HANDLERS, *TESTS)
    clone.run("-m", "ruff", "check", "--no-cache", *HANDLERS, *TESTS)


def test_its_types_are_right(clone: Clone) -> None:
    clone.run("-m", "mypy", "--cache-dir", "/dev/null", *HANDLERS, *TESTS)


def test_the_template_keeps_every_house_rule_and_cloudformations(clone: Clone) -> None:
    (clone.path / "new.json").write_text(json.dumps(new_part(clone)), encoding="utf-8")

    assert "keeps all" in clone.run("-m", "infra.checks")
    linter = str(Path(sys.executable).with_name("cfn-lint"))
    clone.run(linter, "new.json")


def new_part(clone: Clone) -> dict[str, Any]:
    """The template with its new resources and what they refer to: the linter judges one after another.

    Of what was there before, the dashboard alone has changed.
    """
    shipped, document = (parse((each / "template.yaml").read_text("utf-8")) for each in (ROOT, clone.path))
    before, after = shipped["Resources"], document["Resources"]
    assert {**shipped, "Resources": after} == document
    assert {name for name in before if before[name] != after[name]} == {"Dashboard"}
    shown = {name for name in references(after["Dashboard"]) if not name.startswith("AWS::")}
    assert shown <= {*after, *document["Parameters"], "ServerlessHttpApi"}
    names = Counter(str(each.get("Properties", {}).get("QueueName", name)) for name, each in after.items())
    assert set(names.values()) == {1}
    kept = reached(after, after.keys() - before.keys())
    document["Metadata"]["cfn-lint"]["config"]["ignore_checks"] += UNUSED
    return {**document, "Outputs": {}, "Resources": {name: after[name] for name in after if name in kept}}


def test_its_test_passes_and_so_do_those_that_every_subscriber_has(passed: Counter[str]) -> None:
    assert [passed[name] for name in TESTS] == [2, 2]
    assert passed[EFFECT_ONCE] == 6


def test_its_role_grants_what_it_uses_and_nothing_else(passed: Counter[str]) -> None:
    assert passed[ROLES] == 3


def test_again_it_refuses_and_changes_nothing(clone: Clone) -> None:
    before = clone.files()

    with pytest.raises(AssertionError, match=r"queue_second_look\.py is there already"):
        clone.run(*NEW, "second-look", "--on", "order.paid")

    assert clone.files() == before
