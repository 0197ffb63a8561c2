"""Text that can go everywhere: through XML-borne protocols, into a mail header, onto a page."""

import unicodedata
from typing import Annotated

from pydantic import AfterValidator
from pydantic_core import PydanticCustomError


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


Printable = Annotated[str, AfterValidator(_printable)]
Lines = Annotated[str, AfterValidator(_printable_lines), AfterValidator(_not_blank)]
Filled = Annotated[str, AfterValidator(_printable), AfterValidator(_not_blank)]
