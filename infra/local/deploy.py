"""Bring an expanded template up: each resource once, after those that it refers to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from infra.expand import TemplateError
from infra.local.intrinsics import Resolver, UnresolvedError
from infra.local.not_run import NOT_RUN_LOCALLY
from infra.local.resources import MAKERS, Account, Made

STACK_NAME = "local"
RUN_BY_THE_STACK = frozenset(
    {
        "AWS::ApiGatewayV2::Api",
        "AWS::Events::Rule",
        "AWS::Lambda::Alias",
        "AWS::Lambda::EventSourceMapping",
        "AWS::Lambda::Function",
        "AWS::Lambda::Version",
    }
)
"""Types that have no place in the AWS model: the stack itself plays them."""


class UnknownResourceError(TemplateError):
    """A resource of a type that is neither run on this machine nor known not to be."""


class CircularReferenceError(TemplateError):
    """Resources that need one another, which CloudFormation would refuse as well."""


class Deployment:
    """One template's resources, made on demand."""

    def __init__(self, template: Mapping[str, Any], parameters: Mapping[str, str], account: Account) -> None:
        pseudo = {
            "AWS::AccountId": account.number,
            "AWS::Partition": "aws",
            "AWS::Region": account.region,
            "AWS::StackId": account.arn("cloudformation", "stack/local/local"),
            "AWS::StackName": STACK_NAME,
            "AWS::URLSuffix": "amazonaws.com",
        }
        self.account = account
        self._template = template
        self._resources: Mapping[str, Any] = template["Resources"]
        self._resolver = Resolver(template, {**pseudo, **parameters}, self)
        self._made: dict[str, Made] = {}
        self._under_way: list[str] = []

    def make_all(self) -> None:
        """Make every resource whose condition holds.

        Raises `UnknownResourceError`, `CircularReferenceError` or `UnresolvedError`, naming the resource.
        """
        for logical_id in self._present:
            self._make(logical_id)

    def not_run(self) -> list[tuple[str, str, str]]:
        """Logical id, type and what is left open, of each resource that is not run on this machine."""
        return [
            (logical_id, resource["Type"], NOT_RUN_LOCALLY[resource["Type"]])
            for logical_id, resource in self._present.items()
            if resource["Type"] in NOT_RUN_LOCALLY
        ]

    def of_type(self, type_name: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """Logical id and resolved properties of each resource of a type."""
        for logical_id in self._by_type.get(type_name, ()):
            yield logical_id, self._properties(logical_id)

    def outputs(self) -> dict[str, str]:
        """The template's outputs, resolved."""
        return {
            name: self._resolver.resolve(output["Value"])
            for name, output in self._template.get("Outputs", {}).items()
            if "Condition" not in output or self._resolver.condition(output["Condition"])
        }

    def listing(self) -> list[dict[str, str]]:
        """Each resource's logical id, type and physical id, as CloudFormation lists them."""
        return [
            {"logicalId": logical_id, "type": resource["Type"], "physicalId": self.ref(logical_id)}
            for logical_id, resource in self._present.items()
        ]

    def ref(self, logical_id: str) -> str:
        return self._make(logical_id).ref

    def attribute(self, logical_id: str, name: str) -> str:
        attributes = self._make(logical_id).attributes
        if name in attributes:
            return attributes[name]
        if self._resources[logical_id]["Type"] in NOT_RUN_LOCALLY:
            return f"{logical_id}.{name}"
        raise UnresolvedError(f"{logical_id} has no attribute {name} on this machine")

    @cached_property
    def _present(self) -> Mapping[str, Mapping[str, Any]]:
        """The resources whose condition holds."""
        return {
            logical_id: resource
            for logical_id, resource in self._resources.items()
            if "Condition" not in resource or self._resolver.condition(resource["Condition"])
        }

    @cached_property
    def _by_type(self) -> Mapping[str, Sequence[str]]:
        found: dict[str, list[str]] = {}
        for logical_id, resource in self._present.items():
            found.setdefault(resource["Type"], []).append(logical_id)
        return found

    def _make(self, logical_id: str) -> Made:
        if logical_id in self._made:
            return self._made[logical_id]
        if logical_id not in self._resources:
            raise UnresolvedError(f"the template has no {logical_id}")
        if logical_id in self._under_way:
            raise CircularReferenceError(" → ".join([*self._under_way, logical_id]))
        self._under_way.append(logical_id)
        try:
            self._made[logical_id] = self._new(logical_id, self._resources[logical_id]["Type"])
        finally:
            self._under_way.pop()
        return self._made[logical_id]

    def _new(self, logical_id: str, type_name: str) -> Made:
        if type_name in MAKERS:
            return MAKERS[type_name](self.account, logical_id, self._properties(logical_id))
        if type_name in RUN_BY_THE_STACK or type_name in NOT_RUN_LOCALLY:
            return self._stand_in(logical_id, type_name)
        raise UnknownResourceError(f"{logical_id} is of type {type_name}, which this machine does not know")

    def _stand_in(self, logical_id: str, type_name: str) -> Made:
        if type_name in ("AWS::Lambda::Alias", "AWS::Lambda::Version"):
            return self._qualified(logical_id)
        service = type_name.split("::")[1].lower()
        kind = "function:" if type_name == "AWS::Lambda::Function" else ""
        attributes = {"Arn": self.account.arn(service, f"{kind}{logical_id}")}
        if type_name == "AWS::ApiGatewayV2::Api":
            # The form it has on AWS; where the local one listens is not for the template to know.
            attributes["ApiEndpoint"] = f"https://local.execute-api.{self.account.region}.amazonaws.com"
        return Made(logical_id, attributes)

    def _qualified(self, logical_id: str) -> Made:
        """A version or an alias: there is one version of the code here, and all lead to it."""
        properties = self._properties(logical_id)
        qualifier = properties.get("Name", "1")
        arn = self.account.arn("lambda", f"function:{properties['FunctionName']}:{qualifier}")
        return Made(arn, {"AliasArn": arn, "FunctionArn": arn, "Version": "1"})

    def _properties(self, logical_id: str) -> dict[str, Any]:
        try:
            resolved: dict[str, Any] = self._resolver.resolve(
                self._resources[logical_id].get("Properties", {})
            )
        except UnresolvedError as error:
            raise UnresolvedError(f"{logical_id}: {error}") from error
        return resolved
