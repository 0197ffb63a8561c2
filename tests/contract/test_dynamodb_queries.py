"""Queries: one partition, in order, of a table or an index.

https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_Query.html
"""

from typing import Any

import pytest

from tests.contract.builders import item, number, refused, text

QUERY_DOC = "https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_Query.html"


@pytest.fixture
def events(dynamodb: Any, table: str) -> None:
    """Four events of order a, one of b; all but the first of them unpublished, in another order."""
    dynamodb.put_item(TableName=table, Item=item("a", "event-1"))
    for sk, born in (("event-2", 30), ("event-3", 9), ("other-4", 200)):
        dynamodb.put_item(
            TableName=table,
            Item=item("a", sk, unpublished=text("0"), bornAt=number(born), note=text("x" * 10)),
        )
    dynamodb.put_item(TableName=table, Item=item("b", "event-1", unpublished=text("1"), bornAt=number(1)))


def query(dynamodb: Any, condition: str, values: dict[str, Any], **more: Any) -> Any:
    given = {f":{name}": value for name, value in values.items()}
    return dynamodb.query(
        TableName="Shop", KeyConditionExpression=condition, ExpressionAttributeValues=given, **more
    )


def sort_keys(answer: Any) -> list[str]:
    return [found["sk"]["S"] for found in answer["Items"]]


@pytest.mark.parametrize(
    ("condition", "values", "expected"),
    [
        ("pk = :p", {"p": text("a")}, ["event-1", "event-2", "event-3", "other-4"]),
        ("pk = :p", {"p": text("nobody")}, []),
        ("pk = :p AND sk = :s", {"p": text("a"), "s": text("event-2")}, ["event-2"]),
        ("pk = :p AND sk < :s", {"p": text("a"), "s": text("event-2")}, ["event-1"]),
        ("pk = :p AND sk >= :s", {"p": text("a"), "s": text("event-3")}, ["event-3", "other-4"]),
        (
            "pk = :p AND sk BETWEEN :s AND :t",
            {"p": text("a"), "s": text("event-2"), "t": text("event-3")},
            ["event-2", "event-3"],
        ),
        (
            "pk = :p AND begins_with(sk, :s)",
            {"p": text("a"), "s": text("event-")},
            ["event-1", "event-2", "event-3"],
        ),
        ("begins_with(sk, :s) AND pk = :p", {"p": text("a"), "s": text("other")}, ["other-4"]),
    ],
)
@pytest.mark.usefixtures("events")
def test_key_conditions(dynamodb: Any, condition: str, values: Any, expected: list[str]) -> None:
    answer = query(dynamodb, condition, values)

    assert sort_keys(answer) == expected
    assert answer["Count"] == len(expected)


@pytest.mark.usefixtures("events")
def test_an_index_is_sparse_and_orders_numbers_as_numbers(dynamodb: Any) -> None:
    answer = query(dynamodb, "unpublished = :u", {"u": text("0")}, IndexName="unpublished")

    assert sort_keys(answer) == ["event-3", "event-2", "other-4"]


@pytest.mark.usefixtures("events")
def test_an_index_of_keys_only_holds_keys_only(dynamodb: Any) -> None:
    answer = query(
        dynamodb,
        "unpublished = :u AND bornAt < :b",
        {"u": text("0"), "b": number(10)},
        IndexName="unpublished",
    )

    assert answer["Items"] == [item("a", "event-3", unpublished=text("0"), bornAt=number(9))]


@pytest.mark.usefixtures("events")
def test_an_item_that_loses_its_index_key_leaves_the_index(dynamodb: Any) -> None:
    dynamodb.update_item(TableName="Shop", Key=item("a", "event-3"), UpdateExpression="REMOVE unpublished")

    answer = query(dynamodb, "unpublished = :u", {"u": text("0")}, IndexName="unpublished")

    assert sort_keys(answer) == ["event-2", "other-4"]


@pytest.mark.usefixtures("events")
def test_an_item_whose_index_key_changes_moves(dynamodb: Any) -> None:
    dynamodb.update_item(
        TableName="Shop",
        Key=item("a", "event-3"),
        UpdateExpression="SET unpublished = :u",
        ExpressionAttributeValues={":u": text("refused")},
    )

    moved = query(dynamodb, "unpublished = :u", {"u": text("refused")}, IndexName="unpublished")
    left = query(dynamodb, "unpublished = :u", {"u": text("0")}, IndexName="unpublished")

    assert (sort_keys(moved), sort_keys(left)) == (["event-3"], ["event-2", "other-4"])


@pytest.mark.usefixtures("events")
def test_backwards(dynamodb: Any) -> None:
    answer = query(dynamodb, "pk = :p", {"p": text("a")}, ScanIndexForward=False)

    assert sort_keys(answer) == ["other-4", "event-3", "event-2", "event-1"]


@pytest.mark.parametrize("forward", [True, False])
@pytest.mark.parametrize("index", [{}, {"IndexName": "unpublished"}], ids=["table", "index"])
@pytest.mark.usefixtures("events")
def test_pages_add_up_to_the_whole(dynamodb: Any, index: Any, forward: bool) -> None:
    condition, values = ("unpublished = :u", {"u": text("0")}) if index else ("pk = :p", {"p": text("a")})
    options = {**index, "ScanIndexForward": forward}
    whole = sort_keys(query(dynamodb, condition, values, **options))

    found: list[str] = []
    start: dict[str, Any] = {}
    while True:
        page = query(dynamodb, condition, values, Limit=1, **options, **start)
        found += sort_keys(page)
        if "LastEvaluatedKey" not in page:
            break
        start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}

    assert found == whole


@pytest.mark.usefixtures("events")
@pytest.mark.parametrize("forward", [True, False])
def test_a_page_begins_where_the_last_one_ended_even_if_that_item_is_gone(
    dynamodb: Any, forward: bool
) -> None:
    options = {"IndexName": "unpublished", "ScanIndexForward": forward}
    first = query(dynamodb, "unpublished = :u", {"u": text("0")}, Limit=1, **options)
    dynamodb.update_item(
        TableName="Shop",
        Key=item("a", sort_keys(first)[0]),
        UpdateExpression="REMOVE unpublished",
    )

    rest = query(
        dynamodb, "unpublished = :u", {"u": text("0")}, ExclusiveStartKey=first["LastEvaluatedKey"], **options
    )

    whole = ["event-3", "event-2", "other-4"]
    assert sort_keys(first) + sort_keys(rest) == (whole if forward else whole[::-1])


@pytest.mark.usefixtures("events")
def test_a_filter_comes_after_the_limit(dynamodb: Any) -> None:
    answer = query(
        dynamodb, "pk = :p", {"p": text("a")}, FilterExpression="attribute_exists(unpublished)", Limit=2
    )

    assert (answer["Count"], answer["ScannedCount"]) == (1, 2)
    assert "LastEvaluatedKey" in answer


@pytest.mark.usefixtures("events")
def test_a_query_can_project_and_count(dynamodb: Any) -> None:
    projected = query(dynamodb, "pk = :p", {"p": text("b")}, ProjectionExpression="sk")
    counted = query(dynamodb, "pk = :p", {"p": text("a")}, Select="COUNT")

    assert projected["Items"] == [{"sk": text("event-1")}]
    assert counted["Count"] == 4
    assert "Items" not in counted


@pytest.mark.parametrize(
    ("condition", "values", "more"),
    [
        pytest.param("sk = :s", {"s": text("a")}, {}, id="no-partition"),
        pytest.param("pk > :p", {"p": text("a")}, {}, id="no-equality"),
        pytest.param("pk = :p AND note = :n", {"p": text("a"), "n": text("x")}, {}, id="no-key"),
        pytest.param("pk = :p", {"p": number(1)}, {}, id="odd-type"),
        pytest.param("unpublished = :u", {"u": text("0")}, {"IndexName": "unknown"}, id="odd-index"),
        pytest.param(
            "unpublished = :u",
            {"u": text("0")},
            {"IndexName": "unpublished", "ConsistentRead": True},
            id="consistent-index",
        ),
        pytest.param("pk = :p", {"p": text("a"), "q": text("b")}, {}, id="odd-idle"),
    ],
)
@pytest.mark.moto_differs(reason="lets it pass, or answers with another error", doc=QUERY_DOC, of="odd")
@pytest.mark.usefixtures("events")
def test_what_is_no_query_is_refused(dynamodb: Any, condition: str, values: Any, more: Any) -> None:
    with refused("ValidationException"):
        query(dynamodb, condition, values, **more)


@pytest.mark.usefixtures("events")
def test_a_scan_reads_the_whole_table_page_by_page(dynamodb: Any) -> None:
    """https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_Scan.html"""
    pages = [dynamodb.scan(TableName="Shop", Limit=2)]
    while "LastEvaluatedKey" in pages[-1]:
        start = pages[-1]["LastEvaluatedKey"]
        pages.append(dynamodb.scan(TableName="Shop", Limit=2, ExclusiveStartKey=start))

    found = [(one["pk"]["S"], one["sk"]["S"]) for page in pages for one in page["Items"]]

    expected = [("a", "event-1"), ("a", "event-2"), ("a", "event-3"), ("a", "other-4"), ("b", "event-1")]
    assert sorted(found) == expected


@pytest.mark.usefixtures("events")
def test_a_scan_can_filter_and_project(dynamodb: Any) -> None:
    answer = dynamodb.scan(
        TableName="Shop",
        FilterExpression="bornAt > :b",
        ExpressionAttributeValues={":b": number(100)},
        ProjectionExpression="sk",
    )

    assert answer["Items"] == [{"sk": text("other-4")}]
    assert (answer["Count"], answer["ScannedCount"]) == (1, 5)
