from __future__ import annotations

from typing import Any

import pytest

from infra.local.intrinsics import Resolver, UnresolvedError


class Names:
    def ref(self, logical_id: str) -> str:
        return f"ref:{logical_id}"

    def attribute(self, logical_id: str, name: str) -> str:
        return f"{logical_id}->{name}"


@pytest.fixture
def resolver() -> Resolver:
    template = {
        "Parameters": {"Stage": {"Type": "String"}, "Origins": {"Type": "CommaDelimitedList"}},
        "Mappings": {"Sizes": {"prod": {"memory": 512}}},
        "Conditions": {
            "IsProd": {"Fn::Equals": [{"Ref": "Stage"}, "prod"]},
            "IsNotProd": {"Fn::Not": [{"Condition": "IsProd"}]},
            "Either": {"Fn::Or": [{"Condition": "IsProd"}, {"Condition": "IsNotProd"}]},
            "Both": {"Fn::And": [{"Condition": "IsProd"}, {"Condition": "IsNotProd"}]},
        },
    }
    parameters = {
        "Stage": "prod",
        "Origins": "https://a.example, https://b.example",
        "AWS::Region": "eu-west-1",
    }
    return Resolver(template, parameters, Names())


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param({"Ref": "Stage"}, "prod", id="parameter"),
        pytest.param({"Ref": "AWS::Region"}, "eu-west-1", id="pseudo-parameter"),
        pytest.param({"Ref": "Queue"}, "ref:Queue", id="resource"),
        pytest.param({"Ref": "Origins"}, ["https://a.example", "https://b.example"], id="list-parameter"),
        pytest.param({"Fn::GetAtt": ["Queue", "Arn"]}, "Queue->Arn", id="attribute"),
        pytest.param({"Fn::GetAtt": "Queue.Arn"}, "Queue->Arn", id="attribute-dotted"),
        pytest.param({"Fn::Sub": "${Stage}-${Queue.Arn}-${!kept}"}, "prod-Queue->Arn-${kept}", id="sub"),
        pytest.param(
            {"Fn::Sub": ["${x}/${Queue}", {"x": {"Ref": "Stage"}}]}, "prod/ref:Queue", id="sub-variables"
        ),
        pytest.param({"Fn::Join": ["-", ["a", {"Ref": "Stage"}]]}, "a-prod", id="join"),
        pytest.param({"Fn::Select": ["1", {"Fn::Split": [",", "a,b"]}]}, "b", id="select-split"),
        pytest.param({"Fn::FindInMap": ["Sizes", {"Ref": "Stage"}, "memory"]}, 512, id="find-in-map"),
        pytest.param({"Fn::If": ["IsProd", "yes", "no"]}, "yes", id="if"),
        pytest.param({"Fn::If": ["IsNotProd", "yes", "no"]}, "no", id="if-not"),
        pytest.param({"Fn::If": ["Either", 1, 2]}, 1, id="or"),
        pytest.param({"Fn::If": ["Both", 1, 2]}, 2, id="and"),
        pytest.param(
            {"a": {"Ref": "AWS::NoValue"}, "b": [{"Ref": "AWS::NoValue"}, 1]}, {"b": [1]}, id="no-value"
        ),
        pytest.param(
            {"Condition": {"Bool": {"x": "y"}}}, {"Condition": {"Bool": {"x": "y"}}}, id="iam-condition"
        ),
    ],
)
def test_resolves(resolver: Resolver, value: Any, expected: Any) -> None:
    assert resolver.resolve(value) == expected


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ({"Fn::ImportValue": "shared"}, "Fn::ImportValue"),
        ({"Fn::If": ["Missing", 1, 2]}, "Missing"),
        ({"Fn::FindInMap": ["Sizes", "dev", "memory"]}, "Sizes"),
    ],
)
def test_what_has_no_value_is_named(resolver: Resolver, value: Any, name: str) -> None:
    with pytest.raises(UnresolvedError, match=name):
        resolver.resolve(value)
