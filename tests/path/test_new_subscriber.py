"""`postroom new subscriber` leaves a repository that passes every check, for either kind."""

import sys
from pathlib import Path

import pytest

from tests.path.clone import Clone

NAMES = ("archive", "second-look")
HANDLERS = ["handlers/queue_archive.py", "handlers/queue_second_look.py"]
TESTS = ["tests/unit/subscribers/test_archive.py", "tests/unit/subscribers/test_second_look.py"]
NEW = ("-m", "infra.ops.cli", "new", "subscriber")


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Clone:
    clone = Clone.make(tmp_path_factory.mktemp("clone"))
    clone.run(*NEW, "second-look", "--on", "order.paid")
    clone.run(*NEW, "archive", "--on", "order.paid", "--kind", "call")
    clone.run("-m", "infra.contracts")
    return clone


def test_its_code_is_formatted_and_clean(clone: Clone) -> None:
    clone.run("-m", "ruff", "format", "--check", *HANDLERS, *TESTS)
    clone.run("-m", "ruff", "check", "--no-cache", *HANDLERS, *TESTS)


def test_its_types_are_right(clone: Clone) -> None:
    clone.run("-m", "mypy", "--cache-dir", "/dev/null", *HANDLERS, *TESTS)


def test_the_template_keeps_every_house_rule_and_cloudformations(clone: Clone) -> None:
    assert "keeps all" in clone.run("-m", "infra.checks")
    clone.run(str(Path(sys.executable).with_name("cfn-lint")), "template.yaml")


def test_its_test_passes_and_so_do_those_that_every_subscriber_has(clone: Clone) -> None:
    ran = clone.run("-m", "pytest", "-q", "-p", "no:cacheprovider", *TESTS)
    assert "4 passed" in ran

    ours = ("-k", " or ".join(NAMES), "tests/path/test_effect_once.py")
    assert "6 passed" in clone.run("-m", "pytest", "-q", "-p", "no:cacheprovider", *ours)


def test_its_role_grants_what_it_uses_and_nothing_else(clone: Clone) -> None:
    clone.run("-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/template/test_roles.py")


def test_again_it_refuses_and_changes_nothing(clone: Clone) -> None:
    before = clone.files()

    with pytest.raises(AssertionError, match=r"queue_second_look\.py is there already"):
        clone.run(*NEW, "second-look", "--on", "order.paid")

    assert clone.files() == before
