"""Attribute values, in the form they travel in: `{"S": "text"}`, `{"N": "1.5"}`.

Values are checked and made canonical once, when they arrive, so that equal values compare equal. They are
never changed in place.
"""

import base64
import binascii
import decimal
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from infra.local.aws.errors import AwsError

Value = Mapping[str, Any]
Item = dict[str, Value]
Scalar = str | bytes | Decimal

# https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/HowItWorks.NamingRulesDataTypes.html
MAX_DIGITS = 38
MAX_EXPONENT, MIN_EXPONENT = 125, -130
MAX_DEPTH = 32
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_PLAIN_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,37}")
"""Numbers that are in their one form already, as most are."""
_EXACT = decimal.Context(
    prec=MAX_DIGITS, Emax=999, Emin=-999, traps=[decimal.Inexact, decimal.InvalidOperation]
)
_SETS = {"SS": "string", "NS": "number", "BS": "binary"}


# Each write asks for the sizes of the same few items again and again, which never change.
_SIZES: dict[int, tuple[Mapping[str, Value], int]] = {}
_KEPT_SIZES = 256


def invalid(message: str) -> AwsError:
    return AwsError("ValidationException", message)


def bad_parameter(reason: str) -> AwsError:
    return invalid(f"One or more parameter values were invalid: {reason}")


def canonical_item(item: Mapping[str, Any]) -> Item:
    return {name: canonical(value) for name, value in item.items()}


def canonical(value: Any, depth: int = 1) -> Value:
    """The one form of a value; ValidationException when it is none."""
    # `dict` first: asking the abstract class of each value is slow
    if not isinstance(value, (dict, Mapping)) or len(value) != 1:
        raise invalid(
            "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the "
            "supported datatypes"
        )
    if depth > MAX_DEPTH:
        raise invalid("Nesting Levels have exceeded supported limits")
    ((kind, content),) = value.items()
    if kind == "L":
        return {"L": [canonical(element, depth + 1) for element in content]}
    if kind == "M":
        return {"M": {name: canonical(element, depth + 1) for name, element in content.items()}}
    try:
        return {kind: _CANONICAL[kind](content)}
    except KeyError as error:
        raise invalid(f"Supplied AttributeValue is empty or of an unknown type: {kind}") from error


def number(text: str) -> Decimal:
    """An exact decimal of at most 38 significant digits."""
    if not _NUMBER.fullmatch(text):
        raise invalid(f"The parameter cannot be converted to a numeric value: {text}")
    value = Decimal(text)
    if len("".join(map(str, value.as_tuple().digits)).strip("0")) > MAX_DIGITS:
        raise invalid("Attempting to store more than 38 significant digits in a Number")
    if value and value.adjusted() > MAX_EXPONENT:
        raise invalid(
            "Number overflow. Attempting to store a number with magnitude larger than supported range"
        )
    if value and value.adjusted() < MIN_EXPONENT:
        raise invalid(
            "Number underflow. Attempting to store a number with magnitude smaller than supported range"
        )
    return value


def number_text(value: Decimal) -> str:
    """Leading and trailing zeroes trimmed, no exponent."""
    text = f"{value:f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text


def add(left: Decimal, right: Decimal) -> Value:
    return {"N": _canonical_number(number_text(_exactly(_EXACT.add, left, right)))}


def subtract(left: Decimal, right: Decimal) -> Value:
    return {"N": _canonical_number(number_text(_exactly(_EXACT.subtract, left, right)))}


def kind_of(value: Value) -> str:
    return next(iter(value))


def scalar(value: Value) -> Scalar:
    """What a string, number or binary value compares by: text by code points, binary by unsigned bytes."""
    ((kind, content),) = value.items()
    if kind == "S":
        return str(content)
    return Decimal(content) if kind == "N" else base64.b64decode(content)


def item_size(item: Mapping[str, Value]) -> int:
    """Bytes that count for limits and capacity.

    https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html
    """
    known = _SIZES.get(id(item))
    if known is not None and known[0] is item:
        return known[1]
    if len(_SIZES) >= _KEPT_SIZES:
        _SIZES.clear()
    total = sum(map(_text_size, item)) + sum(map(size, item.values()))
    _SIZES[id(item)] = item, total
    return total


def size(value: Value) -> int:
    ((kind, content),) = value.items()
    if kind == "S":
        return _text_size(content)
    if kind == "N":
        return _number_size(content)
    if kind == "B":
        return len(base64.b64decode(content))
    if kind in _SETS:
        return sum(size({kind[0]: element}) for element in content)
    if kind == "L":
        return 3 + len(content) + sum(map(size, content))
    if kind == "M":
        return 3 + len(content) + item_size(content)
    return 1


def _exactly(operation: Callable[[Decimal, Decimal], Decimal], left: Decimal, right: Decimal) -> Decimal:
    try:
        return operation(left, right)
    except decimal.Inexact as error:
        raise invalid("Attempting to store more than 38 significant digits in a Number") from error


def _text_size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


def _number_size(text: str) -> int:
    digits = text.lstrip("-").replace(".", "").strip("0")
    return (len(digits) + 1) // 2 + 1 + text.startswith("-")


def _canonical_text(content: Any) -> str:
    if not isinstance(content, str):
        raise AwsError("SerializationException", "A string was expected")
    if content.isascii():
        return content
    try:
        content.encode()
    except UnicodeEncodeError as error:
        raise AwsError("SerializationException", "Text must be valid Unicode") from error
    return content


def _canonical_number(content: Any) -> str:
    text = _canonical_text(content)
    return text if _PLAIN_INTEGER.fullmatch(text) else number_text(number(text))


def _canonical_binary(content: Any) -> str:
    try:
        return base64.b64encode(base64.b64decode(content, validate=True)).decode()
    except (TypeError, binascii.Error) as error:
        raise AwsError("SerializationException", "Binary values must be base64") from error


def _canonical_set(element: Callable[[Any], str]) -> Callable[[Any], list[str]]:
    def canonical_set(content: Any) -> list[str]:
        if not content:
            raise bad_parameter("A set may not be empty")
        elements = [element(one) for one in content]
        if len(set(elements)) != len(elements):
            raise bad_parameter(f"Input collection {content} contains duplicates.")
        return sorted(elements)

    return canonical_set


def _canonical_boolean(content: Any) -> bool:
    if not isinstance(content, bool):
        raise AwsError("SerializationException", "A boolean was expected")
    return content


def _canonical_null(content: Any) -> bool:
    if content is not True:
        raise bad_parameter("Null attribute value types must have the value of true")
    return True


_CANONICAL: Mapping[str, Callable[[Any], Any]] = {
    "S": _canonical_text,
    "N": _canonical_number,
    "B": _canonical_binary,
    "BOOL": _canonical_boolean,
    "NULL": _canonical_null,
    "SS": _canonical_set(_canonical_text),
    "NS": _canonical_set(_canonical_number),
    "BS": _canonical_set(_canonical_binary),
}
