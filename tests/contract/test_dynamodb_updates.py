"""Update expressions.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.UpdateExpressions.html
"""

from typing import Any

import pytest

from tests.contract.builders import item, key, number, refused, stored, text

UPDATE_DOC = (
    "https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.UpdateExpressions.html"
)
START = item(
    "a",
    n=number(5),
    s=text("x"),
    l={"L": [text("a"), text("b"), text("c"), text("d")]},
    m={"M": {"k": number(1)}},
    tags={"SS": ["a", "b"]},
)


def update(dynamodb: Any, expression: str, pk: str = "a", **more: Any) -> Any:
    """Update an item; keyword arguments other than the API's are values."""
    values = {f":{name}": value for name, value in more.items() if name.islower()}
    options = {name: value for name, value in more.items() if not name.islower()}
    if values:
        options["ExpressionAttributeValues"] = values
    return dynamodb.update_item(TableName="Shop", Key=key(pk), UpdateExpression=expression, **options)


@pytest.fixture
def start(dynamodb: Any, table: str) -> None:
    dynamodb.put_item(TableName=table, Item=START)


@pytest.mark.parametrize(
    ("expression", "values", "name", "expected"),
    [
        ("SET n = :v", {"v": number(7)}, "n", number(7)),
        ("SET fresh = :v", {"v": number(7)}, "fresh", number(7)),
        ("SET n = n + :v", {"v": number("0.1")}, "n", number("5.1")),
        ("SET n = n - :v", {"v": number(7)}, "n", number(-2)),
        ("SET n = :v - n", {"v": number(7)}, "n", number(2)),
        ("SET n = if_not_exists(n, :v)", {"v": number(7)}, "n", number(5)),
        ("SET fresh = if_not_exists(fresh, :v)", {"v": number(7)}, "fresh", number(7)),
        ("SET fresh = if_not_exists(fresh, :v) + :v", {"v": number(7)}, "fresh", number(14)),
        ("SET fresh = n", {}, "fresh", number(5)),
        ("SET m.k = :v", {"v": number(7)}, "m", {"M": {"k": number(7)}}),
        ("SET m.fresh = :v", {"v": number(7)}, "m", {"M": {"k": number(1), "fresh": number(7)}}),
        ("SET l[1] = :v", {"v": text("B")}, "l", {"L": [text("a"), text("B"), text("c"), text("d")]}),
        ("SET l[9] = :v", {"v": text("e")}, "l", {"L": [text(one) for one in "abcde"]}),
        ("SET l = list_append(l, :v)", {"v": {"L": [text("e")]}}, "l", {"L": [text(one) for one in "abcde"]}),
        ("SET l = list_append(:v, l)", {"v": {"L": [text("0")]}}, "l", {"L": [text(one) for one in "0abcd"]}),
        (
            "SET fresh = list_append(if_not_exists(fresh, :e), :v)",
            {"e": {"L": []}, "v": {"L": [text("x")]}},
            "fresh",
            {"L": [text("x")]},
        ),
        ("REMOVE n", {}, "n", None),
        ("REMOVE nothing", {}, "nothing", None),
        ("REMOVE m.k", {}, "m", {"M": {}}),
        ("REMOVE l[0]", {}, "l", {"L": [text("b"), text("c"), text("d")]}),
        ("REMOVE l[0], l[2]", {}, "l", {"L": [text("b"), text("d")]}),
        ("REMOVE l[9]", {}, "l", {"L": [text(one) for one in "abcd"]}),
        ("ADD n :v", {"v": number(-7)}, "n", number(-2)),
        ("ADD fresh :v", {"v": number(7)}, "fresh", number(7)),
        ("ADD tags :v", {"v": {"SS": ["b", "c"]}}, "tags", {"SS": ["a", "b", "c"]}),
        ("DELETE tags :v", {"v": {"SS": ["a", "z"]}}, "tags", {"SS": ["b"]}),
        ("DELETE tags :v", {"v": {"SS": ["a", "b"]}}, "tags", None),
    ],
)
@pytest.mark.usefixtures("start")
def test_actions(dynamodb: Any, expression: str, values: Any, name: str, expected: Any) -> None:
    update(dynamodb, expression, **values)

    found = stored(dynamodb, "a")

    assert found is not None
    value = found.get(name)
    assert (value if value is None or "SS" not in value else {"SS": sorted(value["SS"])}) == expected


@pytest.mark.usefixtures("start")
def test_actions_read_the_item_as_it_was(dynamodb: Any) -> None:
    update(dynamodb, "SET n = :v, twin = n ADD grand :v REMOVE s", v=number(7))

    found = stored(dynamodb, "a")

    assert found is not None
    assert (found["n"], found["twin"], found["grand"]) == (number(7), number(5), number(7))
    assert "s" not in found


@pytest.mark.usefixtures("start")
def test_numbers_stay_exact(dynamodb: Any) -> None:
    update(dynamodb, "SET grand = :a", a=number("0.1"))
    for _ in range(2):
        update(dynamodb, "SET grand = grand + :a", a=number("0.1"))

    found = stored(dynamodb, "a")

    assert found is not None
    assert found["grand"] == number("0.3")  # JSON-3


@pytest.mark.usefixtures("table")
def test_an_update_makes_what_is_not_there(dynamodb: Any) -> None:
    update(dynamodb, "SET n = :v", pk="new", v=number(1))

    assert stored(dynamodb, "new") == item("new", n=number(1))


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ("ALL_OLD", START),
        ("ALL_NEW", {**START, "n": number(6), "m": {"M": {"k": number(2)}}}),
        ("UPDATED_OLD", {"n": number(5), "m": {"M": {"k": number(1)}}}),
        ("UPDATED_NEW", {"n": number(6), "m": {"M": {"k": number(2)}}}),
    ],
)
@pytest.mark.usefixtures("start")
def test_an_update_returns_what_was_asked_for(dynamodb: Any, wanted: str, expected: Any) -> None:
    answer = update(dynamodb, "SET n = n + :v, m.k = :w", v=number(1), w=number(2), ReturnValues=wanted)

    assert answer["Attributes"] == expected


@pytest.mark.usefixtures("start")
def test_an_update_returns_nothing_unasked(dynamodb: Any) -> None:
    assert "Attributes" not in update(dynamodb, "SET n = :v", v=number(1))


@pytest.mark.parametrize(
    ("expression", "values"),
    [
        pytest.param("SET pk = :v", {"v": text("b")}, id="key"),
        pytest.param("SET n = nothing", {}, id="unknown-attribute"),
        pytest.param("SET n = s + :v", {"v": number(1)}, id="no-number"),
        pytest.param("SET x.y = :v", {"v": number(1)}, id="no-parent"),
        pytest.param("SET n.y = :v", {"v": number(1)}, id="odd-container"),
        pytest.param("SET n = :v, n = :v", {"v": number(1)}, id="overlap"),
        pytest.param("SET m = :v REMOVE m.k", {"v": number(1)}, id="overlap-inside"),
        pytest.param("SET n = :v SET s = :v", {"v": number(1)}, id="twice"),
        pytest.param("ADD s :v", {"v": number(1)}, id="add-to-text"),
        pytest.param("ADD n :v", {"v": text("1")}, id="add-text"),
        pytest.param("DELETE tags :v", {"v": text("a")}, id="delete-text"),
        pytest.param("SET l = list_append(n, :v)", {"v": {"L": []}}, id="append-to-number"),
        pytest.param("SET n", {}, id="syntax"),
        pytest.param("n = :v", {"v": number(1)}, id="no-clause"),
        pytest.param("SET n = :v", {}, id="undefined"),
        pytest.param("SET n = :v", {"v": number(1), "w": number(2)}, id="idle"),
        pytest.param("SET status = :v", {"v": text("x")}, id="reserved"),
    ],
)
@pytest.mark.moto_differs(reason="lets it pass", doc=UPDATE_DOC, of="odd")
@pytest.mark.usefixtures("start")
def test_what_cannot_be_is_refused_and_changes_nothing(dynamodb: Any, expression: str, values: Any) -> None:
    with refused("ValidationException"):
        update(dynamodb, expression, **values)

    assert stored(dynamodb, "a") == START


@pytest.mark.usefixtures("start")
@pytest.mark.moto_differs(
    reason="rounds",
    doc="https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/"
    "HowItWorks.NamingRulesDataTypes.html",
)
def test_a_sum_beyond_38_digits_is_refused(dynamodb: Any) -> None:
    update(dynamodb, "SET big = :v", v=number("9" * 38))

    with refused("ValidationException"):
        update(dynamodb, "SET big = big + :v", v=number("0.1"))
