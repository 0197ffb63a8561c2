"""Text that can go everywhere: through XML-borne protocols, into a mail header, onto a page."""

import unicodedata
from dataclasses import dataclass
from typing import Annotated

from pydantic import AfterValidator, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError


def is_printable(text: str) -> bool:
    """No control character, lone surrogate or noncharacter.

    Stricter than SQS and SNS, which also take tabs, line ends and most noncharacters.
    docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessage.html
    """
    return not any(unicodedata.category(each) in ("Cc", "Cs") or _is_noncharacter(each) for each in text)


def _is_noncharacter(character: str) -> bool:
    """Unicode Standard §23.7: the last two of each plane, and U+FDD0 to U+FDEF."""
    number = ord(character)
    return number & 0xFFFE == 0xFFFE or 0xFDD0 <= number <= 0xFDEF


def _printable(text: str) -> str:
    if not is_printable(text):
        raise PydanticCustomError("printable", "must not hold control or other unprintable characters")
    return text


def _printable_lines(text: str) -> str:
    _printable(text.replace("\n", ""))
    return text


def _not_blank(text: str) -> str:
    if not text.strip():
        raise PydanticCustomError("blank", "must not be blank")
    return text


@dataclass(frozen=True, slots=True)
class Pattern:
    """Says in the JSON Schema what a validator checks. It leaves out 32 noncharacters beyond U+FFFF."""

    regex: str

    def __get_pydantic_json_schema__(
        self, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return {**handler(core_schema), "pattern": self.regex}


_UNPRINTABLE = r"\u0000-\u001f\u007f-\u009f\ufdd0-\ufdef\ufffe\uffff"
_UNPRINTABLE_IN_LINES = r"\u0000-\u0009\u000b-\u001f\u007f-\u009f\ufdd0-\ufdef\ufffe\uffff"


def _all_but(excluded: str) -> Pattern:
    return Pattern(f"^[^{excluded}]*$")


def _something_but(excluded: str) -> Pattern:
    return Pattern(rf"^[^{excluded}]*[^\s{excluded}][^{excluded}]*$")


Printable = Annotated[str, AfterValidator(_printable), _all_but(_UNPRINTABLE)]
Lines = Annotated[
    str,
    AfterValidator(_printable_lines),
    AfterValidator(_not_blank),
    _something_but(_UNPRINTABLE_IN_LINES),
]
Filled = Annotated[str, AfterValidator(_printable), AfterValidator(_not_blank), _something_but(_UNPRINTABLE)]
