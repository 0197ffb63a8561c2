"""Conditions decide whether a write happens.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.OperatorsAndFunctions.html
"""

from typing import Any

import pytest

from tests.contract.builders import item, key, number, refused, stored, text

NAMES_DOC = (
    "https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/"
    "Expressions.ExpressionAttributeNames.html"
)
OPERATORS_DOC = (
    "https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.OperatorsAndFunctions.html"
)
FAILED = "ConditionalCheckFailedException"
ORDER = item(
    "a",
    phase=text("paid"),
    amount=number("19.90"),
    parts={"L": [text("x"), text("y")]},
    tags={"SS": ["new", "vip"]},
    buyer={"M": {"city": text("Lagos")}},
    open={"BOOL": True},
)


def holds(dynamodb: Any, condition: str, **values: Any) -> bool:
    """Whether the condition lets a write of item `a` through."""
    given = {f":{name}": value for name, value in values.items()}
    try:
        dynamodb.put_item(
            TableName="Shop",
            Item=ORDER,
            ConditionExpression=condition,
            **({"ExpressionAttributeValues": given} if given else {}),
        )
    except dynamodb.exceptions.ConditionalCheckFailedException:
        return False
    return True


@pytest.fixture
def order(dynamodb: Any, table: str) -> None:
    dynamodb.put_item(TableName=table, Item=ORDER)


@pytest.mark.parametrize(
    ("condition", "values", "expected"),
    [
        ("attribute_exists(pk)", {}, True),
        ("attribute_not_exists(pk)", {}, False),
        ("attribute_exists(buyer.city)", {}, True),
        ("attribute_not_exists(buyer.street)", {}, True),
        ("attribute_exists(parts[1])", {}, True),
        ("attribute_exists(parts[2])", {}, False),
        ("phase = :v", {"v": text("paid")}, True),
        ("phase <> :v", {"v": text("paid")}, False),
        ("nothing = :v", {"v": text("paid")}, False),
        ("nothing <> :v", {"v": text("paid")}, True),
        ("nothing < :v", {"v": text("paid")}, False),
        ("phase = :v", {"v": number(1)}, False),
        pytest.param("phase < :v", {"v": number(1)}, False, id="odd-kinds"),
        ("amount = :v", {"v": number("19.9")}, True),
        ("amount >= :v", {"v": number("19.90")}, True),
        ("amount > :v", {"v": number("3")}, True),
        ("amount BETWEEN :a AND :b", {"a": number(19), "b": number(20)}, True),
        ("amount BETWEEN :a AND :b", {"a": number(20), "b": number(30)}, False),
        ("phase IN (:a, :b)", {"a": text("new"), "b": text("paid")}, True),
        ("phase IN (:a)", {"a": text("new")}, False),
        ("begins_with(phase, :v)", {"v": text("pa")}, True),
        ("begins_with(phase, :v)", {"v": text("ap")}, False),
        ("contains(phase, :v)", {"v": text("ai")}, True),
        ("contains(tags, :v)", {"v": text("vip")}, True),
        ("contains(tags, :v)", {"v": text("vi")}, False),
        ("contains(parts, :v)", {"v": text("y")}, True),
        ("attribute_type(parts, :v)", {"v": text("L")}, True),
        ("attribute_type(parts, :v)", {"v": text("M")}, False),
        ("size(parts) = :v", {"v": number(2)}, True),
        ("size(phase) > :v", {"v": number(4)}, False),
        ("size(tags) = :v", {"v": number(2)}, True),
        ("NOT phase = :v", {"v": text("paid")}, False),
        ("attribute_exists(pk) AND phase = :v", {"v": text("new")}, False),
        ("attribute_not_exists(pk) OR phase = :v", {"v": text("paid")}, True),
        (
            "phase = :a OR phase = :b AND amount < :c",
            {"a": text("paid"), "b": text("x"), "c": number(1)},
            True,
        ),
        (
            "(phase = :a OR phase = :b) AND amount < :c",
            {"a": text("paid"), "b": text("x"), "c": number(1)},
            False,
        ),
        ("attribute_exists(pk) and not (phase = :v)", {"v": text("new")}, True),
        ("parts = :v", {"v": {"L": [text("x"), text("y")]}}, True),
        ("tags = :v", {"v": {"SS": ["vip", "new"]}}, True),
    ],
)
@pytest.mark.moto_differs(reason="fails on values without an order", doc=OPERATORS_DOC, of="odd")
@pytest.mark.usefixtures("order")
def test_conditions(dynamodb: Any, condition: str, values: Any, expected: bool) -> None:
    assert holds(dynamodb, condition, **values) is expected


def test_a_failed_condition_changes_nothing(dynamodb: Any, table: str) -> None:
    dynamodb.put_item(TableName=table, Item=ORDER)

    with refused(FAILED):
        dynamodb.put_item(
            TableName=table, Item=item("a", phase=text("new")), ConditionExpression="attribute_not_exists(pk)"
        )

    assert stored(dynamodb, "a") is not None
    assert stored(dynamodb, "a") != item("a", phase=text("new"))


def test_a_failure_shows_the_item_in_the_way_when_asked(dynamodb: Any, table: str) -> None:
    dynamodb.put_item(TableName=table, Item=item("a", owner=text("alice")))
    request = {"TableName": table, "Item": item("a"), "ConditionExpression": "attribute_not_exists(pk)"}

    with refused(FAILED) as shown:
        dynamodb.put_item(**request, ReturnValuesOnConditionCheckFailure="ALL_OLD")
    with refused(FAILED) as hidden:
        dynamodb.put_item(**request)

    assert shown.value.response.get("Item") == item("a", owner=text("alice"))
    assert "Item" not in hidden.value.response


def test_a_condition_on_an_item_that_is_not_there(dynamodb: Any, table: str) -> None:
    with refused(FAILED):
        dynamodb.update_item(
            TableName=table,
            Key=key("phantom"),
            UpdateExpression="SET phase = :v",
            ConditionExpression="attribute_exists(pk)",
            ExpressionAttributeValues={":v": text("paid")},
        )

    assert stored(dynamodb, "phantom") is None  # DDB-3


def test_a_delete_may_be_conditional(dynamodb: Any, table: str) -> None:
    dynamodb.put_item(TableName=table, Item=ORDER)

    with refused(FAILED):
        dynamodb.delete_item(TableName=table, Key=key("a"), ConditionExpression="attribute_not_exists(pk)")

    assert stored(dynamodb, "a") is not None


@pytest.mark.parametrize(
    "request_",
    [
        pytest.param(
            {"ConditionExpression": "#n = :v", "ExpressionAttributeValues": {":v": text("x")}}, id="odd-name"
        ),
        pytest.param({"ConditionExpression": "phase = :v"}, id="odd-value"),
        pytest.param(
            {
                "ConditionExpression": "phase = :v",
                "ExpressionAttributeValues": {":v": text("x"), ":w": text("y")},
            },
            id="odd-idle-value",
        ),
        pytest.param(
            {
                "ConditionExpression": "attribute_exists(#n)",
                "ExpressionAttributeNames": {"#n": "phase", "#m": "amount"},
            },
            id="idle-name",
        ),
    ],
)
@pytest.mark.moto_differs(
    reason="fails on what is undefined, and lets values go unused", doc=NAMES_DOC, of="odd"
)
def test_placeholders_are_defined_and_used(dynamodb: Any, table: str, request_: Any) -> None:
    with refused("ValidationException"):
        dynamodb.put_item(TableName=table, Item=ORDER, **request_)


@pytest.mark.parametrize("word", ["status", "STATE", "owner", "open", "ttl", "type", "name"])
def test_reserved_words_need_an_alias(dynamodb: Any, table: str, word: str) -> None:
    with refused("ValidationException"):
        dynamodb.put_item(TableName=table, Item=ORDER, ConditionExpression=f"attribute_exists({word})")


@pytest.mark.parametrize(
    "condition",
    [
        "exists(pk)",
        pytest.param("", id="odd-empty"),
        pytest.param("phase", id="odd-path"),
        pytest.param("phase =", id="odd-end"),
        pytest.param("phase = paid extra", id="odd-extra"),
        pytest.param("attribute_exists(pk", id="odd-bracket"),
        pytest.param("attribute_exists(:v)", id="odd-value"),
    ],
)
@pytest.mark.moto_differs(reason="reads conditions loosely", doc=OPERATORS_DOC, of="odd")
def test_what_is_no_condition_is_refused(dynamodb: Any, table: str, condition: str) -> None:
    with refused("ValidationException"):
        dynamodb.put_item(TableName=table, Item=ORDER, ConditionExpression=condition)
