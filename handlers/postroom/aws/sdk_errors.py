"""What the SDK raises, by what that says about the call.

Functions, as botocore comes with the first client and not with the entry that may need one.
"""

from collections.abc import Mapping
from typing import Any


def no_answer() -> tuple[type[Exception], ...]:
    """Whatever means that none came: the call may have been carried out, or have reached nobody.

    The SDK has two families of them: for a connection that could not be made (in time), and for one that
    broke or stayed silent. github.com/boto/botocore/blob/develop/botocore/exceptions.py
    """
    from botocore import exceptions

    return exceptions.ConnectionError, exceptions.HTTPClientError


def no_success() -> tuple[type[Exception], ...]:
    """No answer, or one that is an error (`ClientError`)."""
    from botocore.exceptions import ClientError

    return ClientError, *no_answer()


def code_of(error: Exception) -> str:
    """AWS's own word for what went wrong; empty when no answer came."""
    # what found no answer may have the attribute, and nothing in it
    answer: Mapping[str, Any] = getattr(error, "response", None) or {}
    return str(answer.get("Error", {}).get("Code", ""))
