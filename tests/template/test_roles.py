"""Every role grants what its function uses, and nothing else."""

import pytest

from infra.checks.day import used
from infra.checks.grants import Grant, differences
from infra.checks.mutants import grants
from infra.checks.mutants.hunt import missed_by_grants
from infra.checks.template import Template
from tests.template.conftest import ROOT


@pytest.fixture(scope="module")
def use() -> dict[str, set[Grant]]:
    path = ROOT / "template.yaml"
    return used(path, Template.load(path))


def test_every_role_grants_what_its_function_uses_and_nothing_else(
    shipped: Template, use: dict[str, set[Grant]]
) -> None:
    assert differences(shipped, use) == {function: [] for function, _ in shipped.functions()}


def test_every_function_is_made_use_of(shipped: Template, use: dict[str, set[Grant]]) -> None:
    assert {function for function, asked in use.items() if asked} == {
        function for function, _ in shipped.functions()
    }


def test_role_that_grants_more_or_less_is_caught(shipped: Template, use: dict[str, set[Grant]]) -> None:
    assert list(missed_by_grants(shipped, use, grants.MUTANTS)) == []
