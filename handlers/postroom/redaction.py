"""What of an error may be kept or logged: an author's or a provider's text may name people."""

import re
import traceback

_MAIL = re.compile(r"[^\s@<>\"']+@[^\s@<>\"']+")
_LONG_NUMBER = re.compile(r"\+?\d(?:[ -]?\d){8,}")


def redact(text: str) -> str:
    """Without what looks personal: e-mail addresses and long digit runs (cards, phones, accounts)."""
    return _LONG_NUMBER.sub("[number]", _MAIL.sub("[e-mail]", text))


def trace(error: BaseException) -> str:
    """The traceback as a log may hold it."""
    return redact("".join(traceback.format_exception(error)))
