"""Resolve CloudFormation's intrinsic functions, as far as templates of this kind use them.

Source: the intrinsic function reference of the CloudFormation user guide
(https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/intrinsic-function-reference.html).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, cast

from infra.expand import TemplateError

_PLACEHOLDER = re.compile(r"\$\{(!?)([^}]*)\}")
_NO_VALUE = object()


class UnresolvedError(TemplateError):
    """A reference or function in the template that cannot be resolved on this machine."""


class References(Protocol):
    """Where `Ref` and `Fn::GetAtt` of a resource find their values."""

    def ref(self, logical_id: str) -> str: ...

    def attribute(self, logical_id: str, name: str) -> str: ...


class Resolver:
    """Intrinsics of one template, with its parameters and pseudo parameters (`AWS::Region`, ...) set."""

    def __init__(
        self, template: Mapping[str, Any], parameters: Mapping[str, str], resources: References
    ) -> None:
        self._conditions: Mapping[str, Any] = template.get("Conditions", {})
        self._mappings: Mapping[str, Any] = template.get("Mappings", {})
        self._parameters = parameters
        self._list_parameters = _names_of_lists(template)
        self._resources = resources
        self._functions: dict[str, Callable[[Any], Any]] = {
            "Ref": self._ref,
            "Condition": self.condition,
            "Fn::GetAtt": self._get_att,
            "Fn::Sub": self._sub,
            "Fn::Join": self._join,
            "Fn::Split": self._split,
            "Fn::Select": self._select,
            "Fn::FindInMap": self._find_in_map,
            "Fn::If": self._if,
            "Fn::Equals": self._equals,
            "Fn::Not": lambda of: not self.resolve(of[0]),
            "Fn::And": lambda of: all(map(self.resolve, of)),
            "Fn::Or": lambda of: any(map(self.resolve, of)),
        }

    def resolve(self, value: Any) -> Any:
        """Return `value` without intrinsics. Raises `UnresolvedError` with the name that has no value."""
        if isinstance(value, dict):
            return self._resolve_mapping(value)
        if isinstance(value, list):
            resolved = [self.resolve(item) for item in value]
            return [item for item in resolved if item is not _NO_VALUE]
        return value

    def condition(self, name: str) -> bool:
        """Return whether the template's condition `name` holds."""
        if name not in self._conditions:
            raise UnresolvedError(f"the template has no condition {name}")
        return bool(self.resolve(self._conditions[name]))

    def _resolve_mapping(self, value: dict[str, Any]) -> Any:
        if len(value) == 1:
            (key, argument), *_ = value.items()
            if key in self._functions and _is_call(key, argument):
                return self._functions[key](argument)
            if key.startswith("Fn::"):
                raise UnresolvedError(f"{key} is not supported on this machine")
        resolved = {key: self.resolve(item) for key, item in value.items()}
        return {key: item for key, item in resolved.items() if item is not _NO_VALUE}

    def _ref(self, name: str) -> Any:
        if name == "AWS::NoValue":
            return _NO_VALUE
        if name in self._list_parameters:
            return [item.strip() for item in self._parameters[name].split(",")]
        return self._named(name)

    def _named(self, name: str) -> str:
        return self._parameters[name] if name in self._parameters else self._resources.ref(name)

    def _get_att(self, argument: str | Sequence[str]) -> str:
        logical_id, name = argument.split(".", 1) if isinstance(argument, str) else argument
        return self._resources.attribute(logical_id, name)

    def _sub(self, argument: Any) -> str:
        text, extra = (argument, {}) if isinstance(argument, str) else argument
        variables = {name: self.resolve(value) for name, value in extra.items()}

        def replace(match: re.Match[str]) -> str:
            literal, name = match.groups()
            if literal:
                return f"${{{name}}}"
            return str(variables[name]) if name in variables else self._dotted(name.strip())

        return _PLACEHOLDER.sub(replace, text)

    def _dotted(self, name: str) -> str:
        logical_id, dot, attribute = name.partition(".")
        return self._resources.attribute(logical_id, attribute) if dot else self._named(name)

    def _join(self, argument: Any) -> str:
        separator, parts = argument
        return str(separator).join(str(part) for part in self.resolve(parts))

    def _split(self, argument: Any) -> list[str]:
        separator, text = argument
        return cast(str, self.resolve(text)).split(separator)

    def _select(self, argument: Any) -> Any:
        index, items = argument
        return self.resolve(items)[int(self.resolve(index))]

    def _find_in_map(self, argument: Any) -> Any:
        name, top, second = (self.resolve(part) for part in argument[:3])
        try:
            return self._mappings[name][top][second]
        except KeyError as error:
            raise UnresolvedError(f"the template's mapping {name} lacks {error}") from error

    def _if(self, argument: Any) -> Any:
        name, then, otherwise = argument
        return self.resolve(then if self.condition(name) else otherwise)

    def _equals(self, argument: Any) -> bool:
        left, right = (self.resolve(side) for side in argument)
        return str(left) == str(right)


def _names_of_lists(template: Mapping[str, Any]) -> frozenset[str]:
    declared = template.get("Parameters", {})
    return frozenset(
        name
        for name, body in declared.items()
        if "List" in body["Type"] and not body["Type"].startswith("AWS::SSM")
    )


def _is_call(key: str, argument: Any) -> bool:
    # An IAM statement has a `Condition` key as well; there its value is a mapping, here a name.
    return key != "Condition" or isinstance(argument, str)
