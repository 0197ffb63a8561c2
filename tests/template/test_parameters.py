from __future__ import annotations

from typing import Any

import pytest

from infra.expand import TemplateError, parameter_values

NUMBER = {"Type": "Number", "MinValue": 2, "MaxValue": 9.5}
NAME = {"Type": "String", "MinLength": 2, "MaxLength": 4, "AllowedPattern": "[a-z]*"}
FLAG = {"Type": "String", "AllowedValues": [True, False]}
LIST = {"Type": "CommaDelimitedList", "AllowedValues": ["a", "b"]}


@pytest.mark.parametrize(
    ("declared", "value", "reason"),
    [
        (NUMBER, "1", "must be at least 2"),
        (NUMBER, "10", "must be at most 9.5"),
        (NUMBER, "", "must be a number"),
        (NUMBER, "nan", "must be a number"),
        (NAME, "a", "must have at least 2 characters"),
        (NAME, "abcde", "must have at most 4 characters"),
        (NAME, "abC", "must match [a-z]*"),
        (NAME, "ab\n", "must match [a-z]*"),
        (FLAG, "yes", "must be one of true, false"),
        (LIST, "a, c", "must be one of a, b"),
        ({"Type": "List<Number>"}, "1,x", "must be a number"),
        ({**NAME, "ConstraintDescription": "must be short"}, "abcde", "must be short"),
        ({**FLAG, "Default": "maybe"}, None, "must be one of true, false"),
    ],
)
def test_value_that_its_declaration_does_not_allow_is_refused(
    declared: dict[str, Any], value: str | None, reason: str
) -> None:
    given = {} if value is None else {"It": value}

    with pytest.raises(TemplateError) as refused:
        parameter_values({"Parameters": {"It": declared}}, given)

    assert str(refused.value) == f"parameter It {reason}"


@pytest.mark.parametrize(
    ("declared", "value"),
    [
        (NUMBER, "2"),
        (NUMBER, "9.5"),
        (NAME, "abcd"),
        (FLAG, "true"),
        (LIST, "b, a"),
        ({"Type": "Number", "AllowedValues": [1, 3]}, "3"),
        ({"Type": "String"}, ""),
    ],
)
def test_value_that_its_declaration_allows_is_taken(declared: dict[str, Any], value: str) -> None:
    assert parameter_values({"Parameters": {"It": declared}}, {"It": value}) == {"It": value}
