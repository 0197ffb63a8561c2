"""Batches, whose entries fare one by one.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/batch-operations.html
"""

from typing import Any

import pytest

from tests.contract.builders import item, key, number, refused, stored, text

GET_DOC = "https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchGetItem.html"
STATEMENT_DOC = "https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ql-reference.update.html"
BATCH_DOC = "https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchExecuteStatement.html"
REMOVE = 'UPDATE "Shop" REMOVE unpublished WHERE pk=? AND sk=?'


def execute(dynamodb: Any, *statements: tuple[str, list[Any]]) -> list[dict[str, Any]]:
    answer = dynamodb.batch_execute_statement(
        Statements=[
            {"Statement": statement, **({"Parameters": parameters} if parameters else {})}
            for statement, parameters in statements
        ]
    )
    responses: list[dict[str, Any]] = answer["Responses"]
    return responses


def test_a_batch_read_gives_what_is_there(dynamodb: Any, table: str) -> None:
    for pk in "ab":
        dynamodb.put_item(TableName=table, Item=item(pk, n=number(1)))

    answer = dynamodb.batch_get_item(
        RequestItems={table: {"Keys": [key(pk) for pk in "abc"], "ConsistentRead": True}}
    )

    found = sorted(answer["Responses"][table], key=lambda one: one["pk"]["S"])
    assert found == [item("a", n=number(1)), item("b", n=number(1))]
    assert answer["UnprocessedKeys"] == {}


def test_a_batch_read_can_project(dynamodb: Any, table: str) -> None:
    dynamodb.put_item(TableName=table, Item=item("a", phase=text("paid"), n=number(1)))

    answer = dynamodb.batch_get_item(
        RequestItems={
            table: {
                "Keys": [key("a")],
                "ProjectionExpression": "#p",
                "ExpressionAttributeNames": {"#p": "phase"},
            }
        }
    )

    assert answer["Responses"][table] == [{"phase": text("paid")}]


def test_a_batch_read_takes_a_hundred_keys_and_none_twice(dynamodb: Any, table: str) -> None:
    dynamodb.batch_get_item(RequestItems={table: {"Keys": [key(str(one)) for one in range(100)]}})

    with refused("ValidationException"):
        dynamodb.batch_get_item(RequestItems={table: {"Keys": [key(str(one)) for one in range(101)]}})
    with refused("ValidationException"):
        dynamodb.batch_get_item(RequestItems={table: {"Keys": [key("a"), key("a")]}})


def test_statements_remove_an_attribute_of_each_item(dynamodb: Any, table: str) -> None:
    for pk in "ab":
        dynamodb.put_item(TableName=table, Item=item(pk, unpublished=text("0"), bornAt=number(1)))

    responses = execute(dynamodb, *((REMOVE, [text(pk), text("entity")]) for pk in "ab"))

    assert [response.get("Error") for response in responses] == [None, None]
    assert [stored(dynamodb, pk) for pk in "ab"] == [item(pk, bornAt=number(1)) for pk in "ab"]


def test_removing_what_is_gone_is_no_error(dynamodb: Any, table: str) -> None:
    dynamodb.put_item(TableName=table, Item=item("a"))

    (response,) = execute(dynamodb, (REMOVE, [text("a"), text("entity")]))

    assert "Error" not in response
    assert stored(dynamodb, "a") == item("a")


@pytest.mark.moto_differs(reason="lets an update of nothing pass", doc=STATEMENT_DOC)
def test_a_statement_makes_no_item_and_fails_alone(dynamodb: Any, table: str) -> None:
    dynamodb.put_item(TableName=table, Item=item("a", unpublished=text("0"), bornAt=number(1)))

    responses = execute(dynamodb, *((REMOVE, [text(pk), text("entity")]) for pk in ("phantom", "a")))

    assert responses[0]["Error"]["Code"] == "ConditionalCheckFailed"
    assert "Error" not in responses[1]
    assert stored(dynamodb, "phantom") is None
    assert stored(dynamodb, "a") == item("a", bornAt=number(1))


@pytest.mark.parametrize(
    ("statement", "parameters", "expected"),
    [
        (
            "UPDATE \"Shop\" SET phase='paid' WHERE pk='a' AND sk='entity'",
            [],
            {"n": number(1), "phase": text("paid")},
        ),
        (
            "UPDATE Shop SET phase=?, n=? WHERE pk=? AND sk=?",
            [text("paid"), number(2)],
            {"n": number(2), "phase": text("paid")},
        ),
        ('UPDATE "Shop" SET phase=? REMOVE n WHERE pk=? AND sk=?', [text("paid")], {"phase": text("paid")}),
    ],
    ids=["literals", "parameters", "odd-both"],
)
@pytest.mark.moto_differs(reason="knows only one clause", doc=STATEMENT_DOC, of="odd")
def test_statements_set_and_remove(
    dynamodb: Any, table: str, statement: str, parameters: list[Any], expected: Any
) -> None:
    dynamodb.put_item(TableName=table, Item=item("a", n=number(1)))
    keys = [text("a"), text("entity")] if parameters else []

    execute(dynamodb, (statement, [*parameters, *keys]))

    assert stored(dynamodb, "a") == item("a", **expected)


@pytest.mark.parametrize(
    ("condition", "value", "passes"),
    [
        ("n=?", number(1), True),
        pytest.param("n=?", number(2), False, id="odd-other"),
        pytest.param("n>?", number(0), True, id="odd-greater"),
        ("missing IS MISSING", None, True),
        pytest.param("n IS MISSING", None, False, id="odd-missing"),
        ("n IS NOT MISSING", None, True),
    ],
)
@pytest.mark.moto_differs(reason="takes equality alone for a condition", doc=STATEMENT_DOC, of="odd")
def test_a_statement_may_have_a_condition(
    dynamodb: Any, table: str, condition: str, value: Any, passes: bool
) -> None:
    dynamodb.put_item(TableName=table, Item=item("a", n=number(1)))
    statement = f"UPDATE \"Shop\" SET phase='paid' WHERE pk=? AND sk=? AND {condition}"
    parameters = [text("a"), text("entity"), *([value] if value else [])]

    (response,) = execute(dynamodb, (statement, parameters))

    assert ("Error" not in response) is passes


@pytest.mark.moto_differs(reason="returns nothing", doc=STATEMENT_DOC)
def test_a_statement_may_return_the_item(dynamodb: Any, table: str) -> None:
    dynamodb.put_item(TableName=table, Item=item("a", n=number(1)))
    statement = 'UPDATE "Shop" SET n=? WHERE pk=? AND sk=? RETURNING ALL OLD *'

    (response,) = execute(dynamodb, (statement, [number(2), text("a"), text("entity")]))

    assert response["Item"] == item("a", n=number(1))


@pytest.mark.moto_differs(reason="lets part of a key pass", doc=STATEMENT_DOC)
def test_a_statement_names_the_whole_key(dynamodb: Any, table: str) -> None:
    dynamodb.put_item(TableName=table, Item=item("a", n=number(1)))

    (response,) = execute(dynamodb, ('UPDATE "Shop" REMOVE n WHERE pk=?', [text("a")]))

    assert response["Error"]["Code"] == "ValidationError"


@pytest.mark.moto_differs(reason="takes any number", doc=BATCH_DOC)
def test_twenty_five_statements_at_most(dynamodb: Any, table: str) -> None:
    statements = [(REMOVE, [text(str(one)), text("entity")]) for one in range(26)]
    execute(dynamodb, *statements[:25])

    with refused("ValidationException"):
        execute(dynamodb, *statements)
