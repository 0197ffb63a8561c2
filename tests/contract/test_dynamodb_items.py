"""Items: what they may be, and what reads and writes give back.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/HowItWorks.NamingRulesDataTypes.html
"""

from typing import Any

import pytest

from tests.contract.builders import item, key, number, refused, stored, text

TYPES_DOC = (
    "https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/HowItWorks.NamingRulesDataTypes.html"
)
INDEX_DOC = "https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GSI.html"
SIZE_DOC = "https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html"
VALIDATION = "ValidationException"


@pytest.mark.parametrize(
    "value",
    [
        {"S": "₦ \U0001f4e6"},
        {"S": ""},
        {"N": "-12.5"},
        {"B": b"\x00\xff"},
        {"BOOL": False},
        {"NULL": True},
        {"L": [{"S": "a"}, {"N": "1"}, {"L": []}]},
        {"M": {"a": {"M": {}}, "b": {"N": "2"}}},
    ],
)
def test_every_kind_of_value_comes_back_as_it_went(dynamodb: Any, table: str, value: Any) -> None:
    dynamodb.put_item(TableName=table, Item=item("a", value=value))

    assert stored(dynamodb, "a") == item("a", value=value)


@pytest.mark.parametrize("kind", ["SS", "NS", "BS"])
def test_sets_come_back_whole(dynamodb: Any, table: str, kind: str) -> None:
    sets: dict[str, list[Any]] = {"SS": ["b", "a"], "NS": ["2", "1"], "BS": [b"b", b"a"]}
    elements = sets[kind]
    dynamodb.put_item(TableName=table, Item=item("a", value={kind: elements}))

    found = stored(dynamodb, "a")

    assert found is not None
    assert sorted(found["value"][kind]) == sorted(elements)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        pytest.param("19.90", "19.9", id="odd-zero-behind"),
        pytest.param("007", "7", id="odd-zeros-before"),
        pytest.param("1E+2", "100", id="odd-exponent"),
        pytest.param("-0", "0", id="odd-sign"),
        ("0.1", "0.1"),
        ("12345678901234567.89", "12345678901234567.89"),
        ("1" * 38, "1" * 38),
    ],
)
@pytest.mark.moto_differs(reason="keeps numbers as they were written", doc=TYPES_DOC, of="odd")
def test_numbers_are_exact_decimals_without_idle_zeros(
    dynamodb: Any, table: str, given: str, kept: str
) -> None:
    dynamodb.put_item(TableName=table, Item=item("a", amount=number(given)))

    found = stored(dynamodb, "a")

    assert found is not None
    assert found["amount"] == {"N": kept}


@pytest.mark.parametrize(
    "given",
    [
        pytest.param("1" * 39, id="odd-digits"),
        pytest.param("1E126", id="odd-large"),
        pytest.param("1E-131", id="small"),
        "NaN",
        "Infinity",
        "1,5",
        "",
        "0x10",
    ],
)
@pytest.mark.moto_differs(reason="knows no bounds", doc=TYPES_DOC, of="odd")
def test_numbers_beyond_38_digits_or_range_are_refused(dynamodb: Any, table: str, given: str) -> None:
    with refused(VALIDATION):
        dynamodb.put_item(TableName=table, Item=item("a", amount=number(given)))


@pytest.mark.parametrize("keys", [("", "entity"), ("a", "")], ids=["partition", "sort"])
def test_a_key_is_never_empty(dynamodb: Any, table: str, keys: tuple[str, str]) -> None:
    with refused(VALIDATION):
        dynamodb.put_item(TableName=table, Item=item(*keys))  # DDB-8


def test_an_index_key_is_never_empty(dynamodb: Any, table: str) -> None:
    with refused(VALIDATION):
        dynamodb.put_item(TableName=table, Item=item("a", unpublished=text(""), bornAt=number(1)))


@pytest.mark.moto_differs(reason="takes any type", doc=INDEX_DOC)
def test_an_index_key_has_its_declared_type(dynamodb: Any, table: str) -> None:
    with refused(VALIDATION):
        dynamodb.put_item(TableName=table, Item=item("a", unpublished=number(1), bornAt=number(1)))


@pytest.mark.parametrize(
    "keys",
    [
        {"pk": text("a")},
        {"pk": text("a"), "sk": number(1)},
        {"pk": text("a"), "sk": text("b"), "more": text("c")},
    ],
    ids=["missing", "odd-type", "more"],
)
@pytest.mark.moto_differs(reason="takes any type", doc=TYPES_DOC, of="odd")
def test_a_key_that_is_not_the_tables_is_refused(dynamodb: Any, table: str, keys: Any) -> None:
    with refused(VALIDATION):
        dynamodb.get_item(TableName=table, Key=keys)


def test_an_item_without_its_key_is_refused(dynamodb: Any, table: str) -> None:
    with refused(VALIDATION):
        dynamodb.put_item(TableName=table, Item={"pk": text("a")})


@pytest.mark.parametrize(("name", "most"), [("pk", 2048), ("sk", 1024)])
def test_keys_are_bounded_in_bytes(dynamodb: Any, table: str, name: str, most: int) -> None:
    dynamodb.put_item(TableName=table, Item={**item("a"), name: text("é" * (most // 2))})

    with refused(VALIDATION):
        dynamodb.put_item(TableName=table, Item={**item("a"), name: text("é" * (most // 2) + "x")})


@pytest.mark.moto_differs(reason="counts more than AWS does", doc=SIZE_DOC)
def test_an_item_is_at_most_400_kib(dynamodb: Any, table: str) -> None:
    names = len("pk" + "a" + "sk" + "entity" + "body")
    dynamodb.put_item(TableName=table, Item=item("a", body=text("x" * (400 * 1024 - names))))

    with refused(VALIDATION):
        dynamodb.put_item(TableName=table, Item=item("a", body=text("x" * (400 * 1024 - names + 1))))


@pytest.mark.parametrize(
    "value", [{"SS": []}, {"NS": ["1", "1.0"]}, {"SS": ["a", "a"]}], ids=["empty", "odd-same", "odd-twice"]
)
@pytest.mark.moto_differs(reason="takes duplicates", doc=TYPES_DOC, of="odd")
def test_a_set_is_neither_empty_nor_has_duplicates(dynamodb: Any, table: str, value: Any) -> None:
    with refused(VALIDATION):
        dynamodb.put_item(TableName=table, Item=item("a", value=value))


def test_what_is_not_there_is_not_there(dynamodb: Any, table: str) -> None:
    assert stored(dynamodb, "nothing") is None


def test_a_put_replaces_the_whole_item_and_can_return_the_old(dynamodb: Any, table: str) -> None:
    dynamodb.put_item(TableName=table, Item=item("a", one=text("1")))

    answer = dynamodb.put_item(TableName=table, Item=item("a", two=text("2")), ReturnValues="ALL_OLD")

    assert answer["Attributes"] == item("a", one=text("1"))
    assert stored(dynamodb, "a") == item("a", two=text("2"))


def test_a_delete_can_return_the_old_item_and_is_no_error_twice(dynamodb: Any, table: str) -> None:
    dynamodb.put_item(TableName=table, Item=item("a", one=text("1")))

    answers = [dynamodb.delete_item(TableName=table, Key=key("a"), ReturnValues="ALL_OLD") for _ in range(2)]

    assert [answer.get("Attributes") for answer in answers] == [item("a", one=text("1")), None]


@pytest.mark.parametrize(
    ("projection", "names", "expected"),
    [
        ("pk, one", {}, {"pk": text("a"), "one": text("1")}),
        ("#n.deep", {"#n": "outside"}, {"outside": {"M": {"deep": number(1)}}}),
        ("many[1]", {}, {"many": {"L": [text("y")]}}),
        ("nothing", {}, {}),
    ],
)
def test_a_projection_gives_only_what_it_names(
    dynamodb: Any, table: str, projection: str, names: Any, expected: Any
) -> None:
    whole = item(
        "a",
        one=text("1"),
        outside={"M": {"deep": number(1), "other": number(2)}},
        many={"L": [text("x"), text("y")]},
    )
    dynamodb.put_item(TableName=table, Item=whole)

    aliases = {"ExpressionAttributeNames": names} if names else {}
    answer = dynamodb.get_item(TableName=table, Key=key("a"), ProjectionExpression=projection, **aliases)

    assert answer.get("Item", {}) == expected


def test_a_table_that_does_not_exist_is_told(dynamodb: Any) -> None:
    with refused("ResourceNotFoundException"):
        dynamodb.get_item(TableName="Nowhere", Key=key("a"))


def test_a_table_is_made_once(dynamodb: Any, table: str) -> None:
    with refused("ResourceInUseException"):
        dynamodb.create_table(
            TableName=table,
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        )
