"""What callers reach at an alias is what was deployed last, whatever a deploy changed."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from infra.checks.template import target
from infra.expand import parameter_values, read_template, transform
from infra.local.intrinsics import Resolver
from tests.template.conftest import ROOT

SHIPPED = read_template(ROOT / "template.yaml")
OTHERS = [
    name
    for name, body in SHIPPED["Resources"].items()
    if body["Type"] == "AWS::Serverless::Function" and "AutoPublishAlias" not in body["Properties"]
]
SOURCE = {
    **SHIPPED,
    "Resources": {name: body for name, body in SHIPPED["Resources"].items() if name not in OTHERS},
}
"""Without the functions that have no versions: it is expanded many times."""
GIVEN = {
    "CardsUrl": "https://cards.example",
    "MailUrl": "smtp://mail.example:25",
    "MailFrom": "a@example.com",
}
PSEUDO = {
    "AWS::StackName": "stack",
    "AWS::Region": "eu-west-1",
    "AWS::Partition": "aws",
    "AWS::AccountId": "1",
}
NOT_IN_A_VERSION = {"CodeSigningConfigArn", "Tags"}
STACK_NAME_LENGTH = 36


@dataclass(frozen=True)
class Names:
    """What CloudFormation calls resources; those of `replaced` have been made anew, under another name."""

    replaced: frozenset[str] = frozenset()

    def ref(self, logical_id: str) -> str:
        return f"arn:aws:service:region:account:kind:{logical_id}-{logical_id in self.replaced}"

    def attribute(self, logical_id: str, name: str) -> str:
        return f"{self.ref(logical_id)}.{name}"


@dataclass(frozen=True)
class Deployed:
    """By the function: what a version of it would be a copy of, and the version as CloudFormation knows it.

    A version of another logical id or with other properties is another version: they cannot be changed.
    docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/aws-resource-lambda-version.html
    """

    functions: Mapping[str, Any]
    versions: Mapping[str, Any]

    @classmethod
    def of(cls, source: Mapping[str, Any], parameters: Mapping[str, str], names: Names = Names()) -> Deployed:
        template = transform(source, {**GIVEN, **parameters})
        values = parameter_values(source, {**GIVEN, **parameters})
        resolver = Resolver(template, {**PSEUDO, **values}, names)
        resources = template["Resources"]
        versions = {
            str(target(body["Properties"]["FunctionName"])): (name, resolver.resolve(body["Properties"]))
            for name, body in resources.items()
            if body["Type"] == "AWS::Lambda::Version"
        }
        functions = {name: resolver.resolve(_copied(resources[name]["Properties"])) for name in versions}
        return cls(functions, versions)


def _copied(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in properties.items() if name not in NOT_IN_A_VERSION}


def changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> set[str]:
    return {name for name in before if before[name] != after[name]}


@pytest.fixture(scope="module")
def first() -> Deployed:
    return Deployed.of(SOURCE, {})


def another(parameter: str) -> str:
    """A value that the first deploy did not have."""
    declared = SOURCE["Parameters"][parameter]
    had = GIVEN[parameter] if parameter in GIVEN else str(declared["Default"])
    others = [*declared.get("AllowedValues", []), declared.get("MaxValue", f"{had}0")]
    return next(str(value) for value in others if str(value) != had)


CONCERNED = ("Architecture", "CardsUrl", "SnapStart")


@pytest.mark.parametrize("parameter", CONCERNED)
def test_deploy_of_one_other_parameter_publishes_just_the_functions_that_it_changes(
    first: Deployed, parameter: str
) -> None:
    second = Deployed.of(SOURCE, {parameter: another(parameter)})

    assert changed(first.versions, second.versions) == changed(first.functions, second.functions) != set()


def test_no_other_parameter_concerns_a_published_function(first: Deployed) -> None:
    others = {name: another(name) for name in SOURCE["Parameters"] if name not in CONCERNED}

    second = Deployed.of(SOURCE, others)

    assert second == first


def test_other_card_gateway_reaches_checkout_and_nothing_else(first: Deployed) -> None:
    second = Deployed.of(SOURCE, {"CardsUrl": "https://other.example"})

    assert changed(first.versions, second.versions) == {"CheckoutFunction"}


@pytest.mark.parametrize("parameter", ["SnapStart", "Architecture"])
def test_every_function_of_the_api_is_published_anew(first: Deployed, parameter: str) -> None:
    second = Deployed.of(SOURCE, {parameter: another(parameter)})

    api = {
        name
        for name, body in SHIPPED["Resources"].items()
        if any(event["Type"] == "HttpApi" for event in body.get("Properties", {}).get("Events", {}).values())
    }
    assert changed(first.versions, second.versions) == api == set(first.versions)


@pytest.mark.parametrize("replaced", ["ShopTable", "JobsTable", "CheckoutRole", "WalletLogs", "LinkSecret"])
def test_resource_made_anew_publishes_just_the_functions_that_use_it(first: Deployed, replaced: str) -> None:
    second = Deployed.of(SOURCE, {}, Names(frozenset({replaced})))

    assert changed(first.versions, second.versions) == changed(first.functions, second.functions) != set()


def _other_code(source: dict[str, Any]) -> None:
    source["Globals"]["Function"]["CodeUri"] = "other/"


def _other_timeout(source: dict[str, Any]) -> None:
    source["Resources"]["CheckoutFunction"]["Properties"]["Timeout"] = 20


@pytest.mark.parametrize(
    ("change", "published"),
    [(_other_code, None), (_other_timeout, {"CheckoutFunction"})],
    ids=["code", "a property"],
)
def test_what_is_written_otherwise_is_published(
    first: Deployed, change: Callable[[dict[str, Any]], None], published: set[str] | None
) -> None:
    source = copy.deepcopy(SOURCE)
    change(source)

    second = Deployed.of(source, {})

    assert changed(first.versions, second.versions) == (published or set(first.versions))


def test_same_deploy_again_publishes_nothing(first: Deployed) -> None:
    assert Deployed.of(SOURCE, {}).versions == first.versions


@pytest.mark.parametrize(("given", "applied"), [("off", "None"), ("on", "PublishedVersions")])
def test_parameter_decides_whether_versions_have_snapshots(given: str, applied: str) -> None:
    functions = Deployed.of(SOURCE, {"SnapStart": given}).functions

    assert {function["SnapStart"]["ApplyOn"] for function in functions.values()} == {applied}


@dataclass(frozen=True)
class Longest:
    """Names as CloudFormation makes them of a stack with a long one: stack, logical id, twelve characters."""

    def ref(self, logical_id: str) -> str:
        name = f"{'s' * STACK_NAME_LENGTH}-{logical_id}-{'r' * 12}"
        if logical_id.endswith("Secret"):
            return f"arn:aws:secretsmanager:ap-southeast-2:123456789012:secret:{logical_id}-{'r' * 12}-rrrrrr"
        return name

    def attribute(self, logical_id: str, name: str) -> str:
        assert name == "RoleId", logical_id
        return "A" * 21


def test_descriptions_fit_lambdas_256_characters_in_stacks_with_long_names(first: Deployed) -> None:
    template = transform(SOURCE, GIVEN)
    values = parameter_values(SOURCE, {**GIVEN, "CardsUrl": f"https://{'h' * 52}", "Architecture": "x86_64"})
    resolver = Resolver(template, {**PSEUDO, **values}, Longest())

    lengths = {
        name: len(resolver.resolve(template["Resources"][name]["Properties"]["Description"]))
        for name, _ in first.versions.values()
    }

    assert max(lengths.values()) <= 256, lengths
