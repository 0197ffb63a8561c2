from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.postroom import strict_json
from handlers.postroom.errors import Unreadable


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param('{"amount":1,"amount":999}', "amount: the key is given twice", id="JSON-1"),
        pytest.param('{"lines":[{"qty":1,"qty":2}]}', "qty: the key is given twice", id="JSON-1-nested"),
        pytest.param('{"qty":' + "9" * 4_301 + "}", "more than 38 digits", id="JSON-2"),
        pytest.param("1" * 39, "more than 38 digits", id="JSON-4"),
        pytest.param("0." + "1" * 39, "more than 38 digits", id="JSON-4-fraction"),
        pytest.param("1e999999", "exponent", id="huge-exponent"),
        pytest.param("NaN", "not a JSON number", id="nan"),
        pytest.param("-Infinity", "not a JSON number", id="infinity"),
        pytest.param('"\\ud800"', "surrogate", id="lone-surrogate"),
        pytest.param("[" * 200_000, "nested too deeply", id="deep"),
        pytest.param("{", "not JSON", id="cut"),
        pytest.param("", "not JSON", id="empty"),
        pytest.param(b"\xff\xfe", "not UTF-8", id="bytes"),
    ],
)
def test_what_other_parsers_let_pass_is_refused(text: str | bytes, reason: str) -> None:
    with pytest.raises(Unreadable, match=reason):
        strict_json.loads(text)


def test_numbers_stay_exact() -> None:
    value = strict_json.loads("[19.90, 0.1, 1E+2, 12345678901234567.89, 7]")  # STREAM-6

    assert value == [Decimal("19.90"), Decimal("0.1"), Decimal(100), Decimal("12345678901234567.89"), 7]
    assert strict_json.dumps(value) == '["19.9","0.1",100,"12345678901234567.89",7]'


def test_a_whole_number_is_an_integer_however_it_is_written() -> None:
    value = strict_json.loads("[1.0, 1E+2, -0.0, 1.5, 1E+60]")

    assert value == [1, 100, 0, Decimal("1.5"), Decimal("1E+60")]
    assert [type(number) for number in value] == [int, int, int, Decimal, Decimal]


def test_a_surrogate_pair_is_one_character() -> None:
    assert strict_json.loads('"\\ud83d\\ude00"') == "\U0001f600"


def test_canonical_text_ignores_spacing_key_order_and_number_form() -> None:
    same = strict_json.canonical(strict_json.loads('{ "b": [1, 2.50], "a": 1.0 }'))

    assert same == strict_json.canonical(strict_json.loads('{"a":1,"b":[1,2.5]}'))  # IDEM-4
    assert same != strict_json.canonical(strict_json.loads('{"a":1,"b":[2.5,1]}'))


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**38) + 1, 10**38 - 1) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(JSON_VALUES)
def test_what_is_written_reads_back_the_same(value: object) -> None:
    try:
        text = strict_json.dumps(value)
        text.encode()
    except UnicodeEncodeError:
        return
    assert strict_json.loads(text) == value
