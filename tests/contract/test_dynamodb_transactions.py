"""All writes or none, with a reason for each.

https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html
"""

from typing import Any

import pytest

from tests.contract.builders import item, key, number, refused, stored, text

TRANSACT_DOC = "https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html"
CANCELLED = "TransactionCanceledException"


def put(pk: str, **attributes: Any) -> dict[str, Any]:
    return {"Put": {"TableName": "Shop", "Item": item(pk, **attributes)}}


def put_new(pk: str, **attributes: Any) -> dict[str, Any]:
    new = put(pk, **attributes)
    new["Put"]["ConditionExpression"] = "attribute_not_exists(pk)"
    new["Put"]["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
    return new


def add(pk: str, points: int) -> dict[str, Any]:
    return {
        "Update": {
            "TableName": "Shop",
            "Key": key(pk),
            "UpdateExpression": "ADD points :p",
            "ExpressionAttributeValues": {":p": number(points)},
        }
    }


def exists(pk: str) -> dict[str, Any]:
    return {
        "ConditionCheck": {
            "TableName": "Shop",
            "Key": key(pk),
            "ConditionExpression": "attribute_exists(pk)",
        }
    }


def delete(pk: str) -> dict[str, Any]:
    return {"Delete": {"TableName": "Shop", "Key": key(pk)}}


@pytest.fixture
def existing(dynamodb: Any, table: str) -> None:
    """Items a (of alice) and b."""
    dynamodb.put_item(TableName=table, Item=item("a", buyer=text("alice")))
    dynamodb.put_item(TableName=table, Item=item("b"))


@pytest.mark.usefixtures("existing")
def test_all_kinds_of_write_happen_together(dynamodb: Any) -> None:
    dynamodb.transact_write_items(TransactItems=[put("new"), add("a", 204), delete("b"), exists("a")][:3])

    assert stored(dynamodb, "new") == item("new")
    assert stored(dynamodb, "a") == item("a", buyer=text("alice"), points=number(204))
    assert stored(dynamodb, "b") is None


@pytest.mark.usefixtures("existing")
def test_one_refusal_cancels_all_and_reasons_name_the_culprit(dynamodb: Any) -> None:
    with refused(CANCELLED) as failure:
        dynamodb.transact_write_items(TransactItems=[put("new"), put_new("a"), exists("b"), exists("c")])

    reasons = failure.value.response["CancellationReasons"]
    assert [reason["Code"] for reason in reasons] == [
        "None",
        "ConditionalCheckFailed",
        "None",
        "ConditionalCheckFailed",
    ]
    assert reasons[1]["Item"] == item("a", buyer=text("alice"))
    assert "Item" not in reasons[3]
    assert stored(dynamodb, "new") is None
    assert stored(dynamodb, "a") == item("a", buyer=text("alice"))


@pytest.mark.usefixtures("table")
def test_the_message_lists_the_codes(dynamodb: Any) -> None:
    with refused(CANCELLED) as failure:
        dynamodb.transact_write_items(TransactItems=[put("new"), exists("a")])

    assert "[None, ConditionalCheckFailed]" in failure.value.response["Error"]["Message"]


@pytest.mark.usefixtures("existing")
@pytest.mark.moto_differs(reason="fails outright where AWS gives a reason", doc=TRANSACT_DOC)
def test_an_impossible_update_is_a_reason_too(dynamodb: Any) -> None:
    with refused(CANCELLED) as failure:
        dynamodb.transact_write_items(
            TransactItems=[
                put("new"),
                {
                    "Update": {
                        "TableName": "Shop",
                        "Key": key("a"),
                        "UpdateExpression": "SET buyer = buyer + :n",
                        "ExpressionAttributeValues": {":n": number(1)},
                    }
                },
            ]
        )

    reasons = failure.value.response["CancellationReasons"]
    assert [reason["Code"] for reason in reasons] == ["None", "ValidationError"]
    assert stored(dynamodb, "new") is None


@pytest.mark.usefixtures("table")
def test_no_item_twice(dynamodb: Any) -> None:
    with refused("ValidationException"):
        dynamodb.transact_write_items(TransactItems=[put("a"), add("a", 1)])

    assert stored(dynamodb, "a") is None


@pytest.mark.usefixtures("table")
def test_a_hundred_items_at_most(dynamodb: Any) -> None:
    dynamodb.transact_write_items(TransactItems=[put(str(one)) for one in range(100)])

    with refused("ValidationException"):
        dynamodb.transact_write_items(TransactItems=[put(str(one)) for one in range(101)])


@pytest.mark.usefixtures("table")
@pytest.mark.moto_differs(reason="keeps no tokens", doc=TRANSACT_DOC)
def test_a_token_makes_a_repeat_harmless(dynamodb: Any) -> None:
    for _ in range(3):
        dynamodb.transact_write_items(TransactItems=[add("a", 204)], ClientRequestToken="token-1")

    assert stored(dynamodb, "a") == item("a", points=number(204))


@pytest.mark.usefixtures("table")
@pytest.mark.moto_differs(reason="keeps no tokens", doc=TRANSACT_DOC)
def test_a_token_with_another_request_is_refused(dynamodb: Any) -> None:
    dynamodb.transact_write_items(TransactItems=[add("a", 204)], ClientRequestToken="token-1")

    with refused("IdempotentParameterMismatchException"):
        dynamodb.transact_write_items(TransactItems=[add("a", 205)], ClientRequestToken="token-1")


@pytest.mark.usefixtures("table")
def test_a_cancelled_request_may_be_tried_again_with_its_token(dynamodb: Any) -> None:
    with refused(CANCELLED):
        dynamodb.transact_write_items(TransactItems=[exists("a"), put("b")], ClientRequestToken="token-1")
    dynamodb.put_item(TableName="Shop", Item=item("a"))

    dynamodb.transact_write_items(TransactItems=[exists("a"), put("b")], ClientRequestToken="token-1")

    assert stored(dynamodb, "b") == item("b")


@pytest.mark.usefixtures("table")
def test_a_table_that_does_not_exist_is_told(dynamodb: Any) -> None:
    elsewhere = put("a")
    elsewhere["Put"]["TableName"] = "Nowhere"

    with refused("ResourceNotFoundException"):
        dynamodb.transact_write_items(TransactItems=[elsewhere])
