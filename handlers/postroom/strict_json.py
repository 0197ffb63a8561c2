"""JSON as RFC 8259 means it to interoperate: no repeated key, no NaN, no float drift, no broken text.

Python's parser takes the last of two equal keys, reads `NaN`, turns 0.1 into a float, and passes lone
surrogates through; each of them has let a checked value differ from the used one somewhere.
"""

import json
from decimal import Decimal
from typing import Any

from .errors import Unreadable

MAX_DIGITS = 38
"""DynamoDB keeps 38 significant digits.
docs.aws.amazon.com/amazondynamodb/latest/developerguide/HowItWorks.NamingRulesDataTypes.html"""


def loads(text: str | bytes) -> Any:
    """Parse JSON; numbers become int or exact Decimal. Raises `Unreadable` with the reason."""
    try:
        decoded = text.decode("utf-8") if isinstance(text, bytes) else text
        value = _decode(decoded)
        _refuse_half_pairs(value, decoded)
    except UnicodeDecodeError as error:
        raise Unreadable("the text is not UTF-8") from error
    except RecursionError as error:
        raise Unreadable("the JSON is nested too deeply") from error
    except json.JSONDecodeError as error:
        raise Unreadable(f"not JSON: {error.msg} at character {error.pos}") from error
    return value


def dumps(value: Any) -> str:
    """The one compact form: keys as given, no spaces, text as it is, fractions as exact decimal strings.

    Raises ValueError for NaN and infinity, TypeError for what JSON has no form for.
    """
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=_decimal)


def canonical(value: Any) -> str:
    """The same for any two bodies that mean the same: sorted keys, no spaces, numbers normalised."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True, default=_decimal)


def _decode(text: str) -> Any:
    return json.loads(
        text,
        object_pairs_hook=_no_repeats,
        parse_constant=_refuse_constant,
        parse_float=_exact,
        parse_int=_bounded,
    )


def _no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        names = [name for name, _ in pairs]
        repeated = next(name for name in names if names.count(name) > 1)
        raise Unreadable("the key is given twice", field=repeated.encode(errors="replace").decode())
    return members


def _refuse_constant(literal: str) -> Any:
    raise Unreadable(f"{literal} is not a JSON number")


def _exact(literal: str) -> Decimal | int:
    """`1.0` and `1e2` are integers (JSON Schema 2020-12 §4.2.3): some clients write every number so."""
    number = Decimal(literal)
    if len(number.as_tuple().digits) > MAX_DIGITS or abs(number.adjusted()) > 125:
        raise Unreadable(f"a number has more than {MAX_DIGITS} digits or an exponent past 125")
    is_whole = number == number.to_integral_value() and number.adjusted() < MAX_DIGITS
    return int(number) if is_whole else number


def _bounded(literal: str) -> int:
    if len(literal.lstrip("-")) > MAX_DIGITS:
        raise Unreadable(f"a number has more than {MAX_DIGITS} digits")
    return int(literal)


def _refuse_half_pairs(value: Any, text: str) -> None:
    if "\\u" not in text and _encodes(text):
        return
    place = _half_pair(value, "")
    if place is not None:
        raise Unreadable("a string holds half of a surrogate pair", field=place)


def _half_pair(value: Any, place: str) -> str | None:
    """Where a string (or key) cannot be encoded, because it holds half of a pair; None when all can."""
    match value:
        case str():
            return None if value.isprintable() or _encodes(value) else place
        case list():
            places = (_half_pair(each, f"{place}[{index}]") for index, each in enumerate(value))
        case dict():
            places = (
                _half_pair(each, f"{place}.{name}".lstrip(".")) if _encodes(name) else place
                for name, each in value.items()
            )
        case _:
            return None
    return next((found for found in places if found is not None), None)


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _decimal(value: Any) -> Any:
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else format(value.normalize(), "f")
    raise TypeError(f"{type(value).__name__} has no JSON form")
