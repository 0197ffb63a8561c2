from __future__ import annotations

import json
from typing import Any

import pytest

from infra.local.filters import UnknownRuleError, any_of

record = {
    "eventName": "INSERT",
    "dynamodb": {"NewImage": {"event": {"S": "{}"}, "n": {"v": 5}, "t": ["a", "b"]}},
}


def image(pattern: Any) -> dict[str, Any]:
    return {"dynamodb": {"NewImage": pattern}}


@pytest.mark.parametrize(
    ("pattern", "matches"),
    [
        pytest.param({"eventName": ["INSERT"]}, True, id="equal"),
        pytest.param({"eventName": ["MODIFY", "REMOVE"]}, False, id="none-equal"),
        pytest.param(image({"event": {"S": [{"exists": True}]}}), True, id="leaf-exists"),
        pytest.param(image({"event": [{"exists": True}]}), False, id="exists-is-for-leaves-only"),
        pytest.param(image({"absent": {"S": [{"exists": False}]}}), True, id="absent"),
        pytest.param(image({"absent": {"S": [{"exists": True}]}}), False, id="absent-does-not-exist"),
        pytest.param({"eventName": [{"prefix": "INS"}]}, True, id="prefix"),
        pytest.param({"eventName": [{"suffix": "X"}]}, False, id="suffix"),
        pytest.param({"eventName": [{"equals-ignore-case": "insert"}]}, True, id="ignore-case"),
        pytest.param({"eventName": [{"anything-but": ["REMOVE"]}]}, True, id="anything-but"),
        pytest.param(image({"n": {"v": [{"numeric": [">", 1, "<=", 5]}]}}), True, id="numeric"),
        pytest.param(image({"n": {"v": ["5"]}}), False, id="number-is-not-text"),
        pytest.param(image({"t": ["b"]}), True, id="member-of-list"),
        pytest.param({"$or": [{"eventName": ["REMOVE"]}, {"eventName": ["INSERT"]}]}, True, id="or"),
        pytest.param({"eventName": ["INSERT"], "absent": ["x"]}, False, id="all-fields"),
    ],
)
def test_pattern_matches_as_lambda_does(pattern: Any, matches: bool) -> None:
    assert any_of([json.dumps(pattern)])(record) is matches


def test_one_matching_pattern_of_several_is_enough_and_none_lets_all_pass() -> None:
    assert any_of([json.dumps({"eventName": ["REMOVE"]}), json.dumps({"eventName": ["INSERT"]})])(record)
    assert any_of([])(record)


@pytest.mark.parametrize(
    "pattern", [{"a": [{"wildcard": "*"}]}, {"a": "bare"}, {"a": [{"exists": True, "prefix": "x"}]}]
)
def test_rule_without_support_is_refused_at_start(pattern: Any) -> None:
    with pytest.raises(UnknownRuleError):
        any_of([json.dumps(pattern)])
