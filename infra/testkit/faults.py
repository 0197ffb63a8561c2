"""What can go wrong with one call: before its effect, after it, or with the answer alone.

A fault is played on a `Line`, which is one attempt of one call, to AWS or to a provider alike.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol


class Killed(BaseException):
    """The process of the function ends here: nothing after this line runs, nothing is reported.

    No `Exception`, so that no handler survives it, as none survives SIGKILL.
    """


class Line(Protocol):
    """One attempt of a call. Whatever does not return raises what the caller would see."""

    @property
    def attempt(self) -> int:
        """1 for the first; the SDK's own retries count on."""

    def perform(self) -> Any:
        """Let the call happen, and return its answer."""

    def refuse(self, *, throttled: bool) -> Any:
        """Answer with an error of the other side's; nothing has happened."""

    def miss(self) -> Any:
        """Let the call find nobody: no connection is made, and nothing has happened."""

    def lose(self) -> Any:
        """Let no answer arrive, until the caller's patience ends."""

    def resend(self) -> Any:
        """Let the answer get lost such that the caller's library sends the same request again by itself."""

    def perform_partly(self) -> Any:
        """Let half of a batch happen, in an answer that is a success as a whole."""

    def meanwhile(self) -> None:
        """Let somebody else do the same work, now, from beginning to end."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One way to fail. `burst` is how many calls in a row of the same site it hits."""

    name: str
    play: Callable[[Line], Any]
    burst: int = 1


def _refused(line: Line) -> Any:
    return line.refuse(throttled=False)


def _throttled(line: Line) -> Any:
    return line.refuse(throttled=True)


def _unreachable(line: Line) -> Any:
    return line.miss()


def _performed_then_refused(line: Line) -> Any:
    if line.attempt == 1:
        line.perform()
    return line.refuse(throttled=False)


def _performed_then_lost(line: Line) -> Any:
    if line.attempt == 1:
        line.perform()
    return line.lose()


def _sent_again(line: Line) -> Any:
    answer = line.perform()
    return line.resend() if line.attempt == 1 else answer


def _killed_before(_line: Line) -> Any:
    raise Killed


def _killed_after(line: Line) -> Any:
    line.perform()
    raise Killed


def _performed_partly(line: Line) -> Any:
    return line.perform_partly()


def _overtaken_before(line: Line) -> Any:
    if line.attempt == 1:
        line.meanwhile()
    return line.perform()


def _overtaken_after(line: Line) -> Any:
    answer = line.perform()
    line.meanwhile()
    return answer


ERROR_BEFORE = Fault("error before", _refused)
THROTTLE_BURST = Fault("throttle burst", _throttled, burst=3)
UNREACHABLE = Fault("unreachable", _unreachable)
EFFECT_THEN_ERROR = Fault("effect, error", _performed_then_refused)
EFFECT_THEN_TIMEOUT = Fault("effect, timeout", _performed_then_lost)
SDK_RESEND = Fault("SDK resend", _sent_again)
CRASH_BEFORE = Fault("crash before", _killed_before)
CRASH_AFTER = Fault("crash after", _killed_after)
PARTIAL_ANSWER = Fault("partial answer", _performed_partly)
OVERTAKEN_BEFORE = Fault("overtaken before", _overtaken_before)
OVERTAKEN_AFTER = Fault("overtaken after", _overtaken_after)

CRASHES = (CRASH_BEFORE, CRASH_AFTER)
ALONE = (
    *(ERROR_BEFORE, THROTTLE_BURST, UNREACHABLE),
    *(EFFECT_THEN_ERROR, EFFECT_THEN_TIMEOUT, SDK_RESEND),
    *CRASHES,
)
"""What can go wrong with a call though nobody else is about."""
EVERYWHERE = (*ALONE, OVERTAKEN_BEFORE, OVERTAKEN_AFTER)
"""What can go wrong with any call."""

BATCHES = frozenset(
    {
        "BatchExecuteStatement",
        "BatchGetItem",
        "ChangeMessageVisibilityBatch",
        "PublishBatch",
        "SendMessageBatch",
        "TransactWriteItems",
    }
)
"""Operations that can succeed in part; for a transaction: be cancelled by a conflict on one of its items."""
