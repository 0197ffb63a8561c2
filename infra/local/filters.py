"""Event filter patterns of event source mappings, compiled to predicates.

Source: https://docs.aws.amazon.com/lambda/latest/dg/invocation-eventfiltering.html (comparison rules).
"""

from __future__ import annotations

import json
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from infra.expand import TemplateError

Predicate = Callable[[Any], bool]
_MISSING = object()

_comparisons: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class UnknownRuleError(TemplateError):
    """A filter pattern that Lambda would refuse, or that is not supported on this machine."""


def any_of(patterns: Sequence[str]) -> Predicate:
    """Return whether a record matches at least one of the JSON `patterns`; without patterns, all match."""
    predicates = [_object(json.loads(pattern)) for pattern in patterns]
    return lambda record: not predicates or any(matches(record) for matches in predicates)


def _object(pattern: Any) -> Predicate:
    if not isinstance(pattern, dict):
        raise UnknownRuleError(f"a filter pattern is an object, not {pattern!r}")
    fields = [_field(name, rule) for name, rule in pattern.items()]
    return lambda value: all(matches(value) for matches in fields)


def _field(name: str, rule: Any) -> Predicate:
    if name == "$or":
        branches = [_object(branch) for branch in rule]
        return lambda value: any(matches(value) for matches in branches)
    matches = _leaf(rule) if isinstance(rule, list) else _object(rule)
    return lambda value: matches(value.get(name, _MISSING) if isinstance(value, dict) else _MISSING)


def _leaf(rules: Sequence[Any]) -> Predicate:
    tests = [_rule(rule) for rule in rules]

    def matches(value: Any) -> bool:
        values = value if isinstance(value, list) else [value]
        return any(test(item) for test in tests for item in values)

    return matches


def _rule(rule: Any) -> Predicate:
    if not isinstance(rule, dict):
        return lambda value: value is not _MISSING and type(value) is type(rule) and value == rule
    (kind, argument), *more = rule.items()
    if more or kind not in _rules:
        raise UnknownRuleError(f"no such filter rule on this machine: {rule!r}")
    return _rules[kind](argument)


def _exists(wanted: bool) -> Predicate:
    # "Exists match only works on leaf nodes. It does not work on intermediate nodes."
    return lambda value: (value is not _MISSING and not isinstance(value, dict)) == wanted


def _text(test: Callable[[str], bool]) -> Predicate:
    return lambda value: isinstance(value, str) and test(value)


def _anything_but(excluded: Any) -> Predicate:
    values = excluded if isinstance(excluded, list) else [excluded]
    return lambda value: value is not _MISSING and not isinstance(value, dict) and value not in values


def _numeric(terms: Sequence[Any]) -> Predicate:
    bounds = [(_comparisons[cast(str, terms[i])], terms[i + 1]) for i in range(0, len(terms), 2)]

    def matches(value: Any) -> bool:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return is_number and all(compare(value, bound) for compare, bound in bounds)

    return matches


_rules: Mapping[str, Callable[[Any], Predicate]] = {
    "exists": _exists,
    "prefix": lambda start: _text(lambda value: value.startswith(start)),
    "suffix": lambda end: _text(lambda value: value.endswith(end)),
    "equals-ignore-case": lambda text: _text(lambda value: value.casefold() == text.casefold()),
    "anything-but": _anything_but,
    "numeric": _numeric,
}
