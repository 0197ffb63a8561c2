"""What belongs to the example is found by what it imports, names and refers to; the rest stays whole."""

import re
from functools import cache
from pathlib import Path

import pytest

from infra.adopt import texts
from infra.adopt.example import Example
from infra.adopt.plan import Plan, plan
from infra.adopt.rehearsal import ROOT
from infra.checks.rules import findings
from infra.checks.template import Template
from infra.checks.watching import slug


@cache
def shop() -> Example:
    return Example(ROOT)


@cache
def whole() -> Plan:
    return plan(shop(), "parcels")


def adopted(path: str) -> str:
    return whole().written[Path(path)]


def test_what_is_run_by_its_name_goes_with_what_runs_it() -> None:
    assert shop().modules["infra.local.load_client"] == "only infra.local.load uses it"


def test_nothing_that_stays_imports_what_goes() -> None:
    stays = shop().all.keys() - shop().modules.keys()

    assert {name: wanted for name in stays if (wanted := shop().imports[name] & shop().modules.keys())} == {}


@pytest.mark.parametrize(
    "stays",
    [
        "handlers.postroom",
        "handlers.queue_webhooks",
        "infra.local.__main__",
        "infra.local.aws",
        "infra.checks.rules",
        "infra.ops.cli",
        "infra.ops.dlq",
        "infra.scaffold",
        "infra.testkit",
        "tests.contract",
        "tests.engine",
        "tests.fakes",
        "tests.template.test_house_rules",
        "tests.unit.local.test_commands",
        "tests.unit.webhooks",
    ],
)
def test_engine_local_run_checks_and_their_tests_stay(stays: str) -> None:
    below = {name for name in shop().all if name == stays or name.startswith(f"{stays}.")}

    assert below
    assert below & shop().modules.keys() == set()


@pytest.mark.parametrize(
    "goes",
    [
        "handlers.shop.orders",
        "handlers.api_checkout",
        "handlers.providers.cards_http",
        "infra.local.shows",
        "infra.checks.day",
        "infra.adopt",
        "tests.path.test_statement",
        "tests.shop_fakes",
        "tests.faults.world",
    ],
)
def test_the_shop_and_what_is_about_it_go(goes: str) -> None:
    assert goes in shop().modules


def test_the_template_that_is_left_has_only_what_is_left_and_keeps_every_rule(
    tmp_path: Path,
) -> None:
    (tmp_path / "template.yaml").write_text(adopted("template.yaml"), encoding="utf-8")

    left = Template.load(tmp_path / "template.yaml")

    assert [found for _, found in findings(left) if found.resource in left.resources] == []
    handlers = {str(function["Handler"]) for _, function in left.functions()}
    assert {"handlers.api_jobs.handler", "handlers.stream_relay.handler"} <= handlers
    assert not {name.rpartition(".")[0] for name in handlers} & shop().modules.keys()


def test_parameters_go_with_what_needed_them_and_their_values_too() -> None:
    parameters = adopted("template.yaml").partition("\nRules:")[0]

    assert "CardsUrl" not in parameters + adopted("samconfig.toml")
    assert "JwtIssuer" in parameters
    assert 'stack_name = "parcels-prod"' in adopted("samconfig.toml")


def test_a_layer_goes_with_its_function_and_its_extra() -> None:
    assert Path("infra/layers/pdf/requirements.txt") in shop().files()
    assert "fpdf2" not in adopted("pyproject.toml")
    assert '"parcels[local]"' in adopted("pyproject.toml")


def test_a_page_of_the_runbook_goes_with_the_last_alarm_that_leads_to_it() -> None:
    headings = {slug(each) for each in re.findall(r"^## (.+)$", adopted("docs/runbook.md"), re.MULTILINE)}

    assert headings == set(re.findall(r"runbook\.md#([a-z0-9-]+)", adopted("template.yaml")))
    assert "$(id NAME)" in adopted("docs/runbook.md")
    assert "ReceiptsQueue" not in adopted("docs/runbook.md")


def test_every_target_that_is_left_runs_what_is_left() -> None:
    run = set(re.findall(r"-m ((?:infra|tests)[\w.]*)", adopted("Makefile")))

    assert {"infra.local", "infra.checks"} <= run
    assert not {name for name in run if name in shop().modules or f"{name}.__main__" in shop().modules}
    assert "adopt-check" not in adopted("Makefile")


def test_ci_makes_only_what_is_left() -> None:
    targets = set(re.findall(r"^([a-z-]+):", adopted("Makefile"), re.MULTILINE))

    assert set(re.findall(r"\bmake ([a-z-]+)", adopted(".ci/run"))) <= targets


def test_a_target_goes_with_the_environment_that_only_it_had() -> None:
    text = "A_VERSION := 1\n\nrun: .venv-a/$(A_VERSION) ## Run it\n\t@python -m infra.gone\n\n"
    text += "# On its own.\n.venv-a/$(A_VERSION):\n\t@touch $@\n\ntest: ## Test\n\t@pytest\n"

    left, targets = texts.makefile(text, ["infra.gone.__main__"])

    assert left.strip() == "test: ## Test\n\t@pytest"
    assert targets == ["run"]
