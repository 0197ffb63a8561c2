"""The code beside the command, which may be in the middle of a change."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager

from infra.ops.core.errors import Refused


@contextmanager
def imported() -> Iterator[None]:
    """Whatever prevents an import in this block becomes `Refused`, with place and reason in a sentence."""
    try:
        yield
    except SyntaxError as error:
        raise Refused(f"{error.filename}, line {error.lineno}: {error.msg}") from error
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        reason = f"{type(error).__name__}: {error}"
        raise Refused(f"{place.filename}, line {place.lineno} cannot be imported: {reason}") from error
