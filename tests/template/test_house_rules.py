"""The shipped template keeps every house rule, and each rule says what it rests on."""

import pytest

from infra.checks.rules import RULES, Rule, findings, page
from infra.checks.template import Template, references
from infra.expand import read_template, transform
from tests.template.conftest import ROOT


def test_shipped_template_keeps_every_rule(shipped: Template) -> None:
    assert list(findings(shipped)) == []


@pytest.fixture
def published(shipped: Template) -> Template:
    """The shipped template with more lines in its globals: a version and an alias for every function."""
    source = read_template(ROOT / "template.yaml")
    source["Globals"]["Function"] |= {
        "AutoPublishAlias": "live",
        "SnapStart": {"ApplyOn": "PublishedVersions"},
    }
    resources = transform(source)["Resources"]
    for version in (each for each in resources.values() if each["Type"] == "AWS::Lambda::Version"):
        function = resources[version["Properties"]["FunctionName"]["Ref"]]["Properties"]
        version["Properties"]["Description"] = [{"Ref": name} for name in references(function)]
    return Template(resources, shipped.jobs)


def test_template_with_snapshots_and_aliases_keeps_every_rule(published: Template) -> None:
    assert list(findings(published)) == []


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_every_rule_gives_its_reason_and_the_page_of_aws_that_it_rests_on(rule: Rule) -> None:
    reason, _, _ = (rule.__doc__ or "").partition("docs.aws.amazon.com/")

    assert len(reason.split()) > 5
    assert page(rule.__name__).startswith("docs.aws.amazon.com/")
