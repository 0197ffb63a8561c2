"""Subscription filter policies: every key must match, any one of its rules suffices.

https://docs.aws.amazon.com/sns/latest/dg/subscription-filter-policy-constraints.html and
https://docs.aws.amazon.com/sns/latest/dg/string-value-matching.html. Rules that are not modelled are refused
when the policy is set.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from typing import Any

from infra.local.aws.errors import AwsError

Attributes = Mapping[str, Mapping[str, Any]]
Scalar = str | int | float | Decimal | bool | None

_COMPARISONS: Mapping[str, Callable[[Decimal, Decimal], bool]] = {
    "=": Decimal.__eq__,
    "<": Decimal.__lt__,
    "<=": Decimal.__le__,
    ">": Decimal.__gt__,
    ">=": Decimal.__ge__,
}
_OPERATORS = ("anything-but", "equals-ignore-case", "exists", "numeric", "prefix", "suffix")


def parse(text: str, in_body: bool) -> Mapping[str, Any]:
    """A filter policy, checked; InvalidParameter when it is not one."""
    try:
        policy = json.loads(text, parse_float=Decimal)
    except ValueError as error:
        raise _bad("failed to parse JSON") from error
    if not isinstance(policy, dict):
        raise _bad("Filter policy must be an object")
    _check(policy, in_body)
    return policy


def matches_attributes(policy: Mapping[str, Any], attributes: Attributes) -> bool:
    """Scope MessageAttributes: keys are attribute names."""
    return all(_any_rule(rules, _attribute_values(attributes.get(name))) for name, rules in policy.items())


def matches_body(policy: Mapping[str, Any], body: str) -> bool:
    """Scope MessageBody: keys are paths into the JSON body; a body that is no JSON object matches nothing."""
    try:
        content = json.loads(body, parse_float=Decimal)
    except ValueError:
        return False
    return isinstance(content, dict) and _matches_object(policy, [content])


def _check(policy: Mapping[str, Any], in_body: bool) -> None:
    for key, rules in policy.items():
        if isinstance(rules, dict) and in_body and key != "$or":
            _check(rules, in_body)
        elif isinstance(rules, list) and rules and key != "$or":
            for rule in rules:
                _check_rule(rule)
        else:
            raise _bad(f'"{key}" must be an object or an array')


def _check_rule(rule: Any) -> None:
    if isinstance(rule, list) or (
        isinstance(rule, dict) and (len(rule) != 1 or next(iter(rule)) not in _OPERATORS)
    ):
        raise _bad(f"Unrecognized match type {json.dumps(rule, default=str)}")


def _matches_object(policy: Mapping[str, Any], contents: list[Mapping[str, Any]]) -> bool:
    for key, rules in policy.items():
        values = [value for content in contents if key in content for value in _flat(content[key])]
        if isinstance(rules, list):
            matched = _any_rule(rules, [value for value in values if not isinstance(value, dict)])
        else:
            matched = _matches_object(rules, [value for value in values if isinstance(value, dict)])
        if not matched:
            return False
    return True


def _flat(value: Any) -> Iterator[Any]:
    if isinstance(value, list):
        for element in value:
            yield from _flat(element)
    else:
        yield value


def _attribute_values(attribute: Mapping[str, Any] | None) -> list[Scalar]:
    if attribute is None or attribute["DataType"].startswith("Binary"):
        return []
    text = attribute["StringValue"]
    if attribute["DataType"] == "String.Array":
        return list(json.loads(text, parse_float=Decimal))
    return [Decimal(text)] if attribute["DataType"].startswith("Number") else [text]


def _any_rule(rules: list[Any], values: list[Scalar]) -> bool:
    return any(_rule_holds(rule, values) for rule in rules)


def _rule_holds(rule: Any, values: list[Scalar]) -> bool:
    if isinstance(rule, dict) and "exists" in rule:
        return bool(values) is bool(rule["exists"])
    return any(_matches(rule, value) for value in values)


def _matches(rule: Any, value: Scalar) -> bool:
    if not isinstance(rule, dict):
        return _same(rule, value)
    ((operator, operand),) = rule.items()
    if operator == "anything-but":
        unwanted = operand if isinstance(operand, list) else [operand]
        return not any(_matches(one, value) for one in unwanted)
    if operator == "numeric":
        return _is_number(value) and _within(operand, Decimal(str(value)))
    return isinstance(value, str) and _text_matches(operator, operand, value)


def _text_matches(operator: str, operand: str, value: str) -> bool:
    if operator == "prefix":
        return value.startswith(operand)
    if operator == "suffix":
        return value.endswith(operand)
    return value.lower() == operand.lower()


def _same(wanted: Scalar, value: Scalar) -> bool:
    if isinstance(wanted, bool) or isinstance(value, bool):
        return wanted is value
    return wanted == value


def _is_number(value: Scalar) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def _within(bounds: list[Any], value: Decimal) -> bool:
    return all(
        _COMPARISONS[comparison](value, Decimal(str(bound)))
        for comparison, bound in zip(bounds[::2], bounds[1::2], strict=True)
    )


def _bad(reason: str) -> AwsError:
    return AwsError("InvalidParameter", f"Invalid parameter: FilterPolicy: {reason}")
