"""When a failed job is tried again, and whether it is tried again at all."""

import math
from dataclasses import dataclass
from enum import StrEnum

from pydantic import ValidationError

from .errors import NotActed, Permanent, ProviderError, Transient

LONGEST_VISIBILITY_SECONDS = 43_200
"""docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_ChangeMessageVisibility.html"""

_RETRYABLE_4XX = frozenset({408, 429})
"""RFC 9110 §15.5.9 (Request Timeout) and RFC 6585 §4 (Too Many Requests)."""


class Jitter(StrEnum):
    """How much of a delay is chance, so that jobs that failed together do not come back together.

    Source: aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/
    """

    NONE = "none"
    EQUAL = "equal"
    FULL = "full"
    LATER = "later"
    """Up to a tenth more: for waits that are said outright, and are not to be cut short."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How one type of job is retried.

    `attempts` counts runs of the handler, the first included. The delay before attempt n + 1 has the ceiling
    min(cap, base × 2^(n-1)), or is said outright: the nth of `steps_ms`, the last for all after it.
    `deadline_seconds` counts from the event's time: past it the job expires.
    """

    attempts: int = 5
    base_ms: int = 1_000
    cap_ms: int = 60_000
    jitter: Jitter = Jitter.FULL
    deadline_seconds: int | None = None
    steps_ms: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.attempts < 1 or self.base_ms < 0 or self.cap_ms < 0:
            raise ValueError("a retry policy needs attempts ≥ 1 and base and cap ≥ 0 milliseconds")

    def ceiling_ms(self, attempt: int) -> int:
        """The longest delay, in milliseconds, after the given attempt (1 is the first) has failed."""
        if self.steps_ms:
            return self.steps_ms[min(max(attempt, 1), len(self.steps_ms)) - 1]
        # 2^63 ms is past every cap: without the bound a large receive count would build a huge integer
        return min(self.cap_ms, self.base_ms << min(max(attempt, 1) - 1, 63))

    def delay_ms(self, attempt: int, chance: float) -> int:
        """The delay in milliseconds after `attempt` has failed; `chance` is uniform in [0, 1]."""
        ceiling = self.ceiling_ms(attempt)
        match self.jitter:
            case Jitter.NONE:
                return ceiling
            case Jitter.EQUAL:
                return _round_half_up(ceiling / 2 + chance * ceiling / 2)
            case Jitter.FULL:
                return _round_half_up(chance * ceiling)
            case Jitter.LATER:
                return _round_half_up(ceiling * (1 + chance / 10))

    def wait_seconds(self, attempt: int, chance: float, retry_after_seconds: float | None = None) -> int:
        """The same delay in whole seconds, never early, at least 1.

        A provider's `Retry-After` is obeyed when it is longer than our own delay.
        """
        return max(1, math.ceil(max(self.delay_ms(attempt, chance) / 1000, retry_after_seconds or 0.0)))

    def visibility_seconds(
        self, attempt: int, chance: float, retry_after_seconds: float | None = None
    ) -> int:
        """The same as SQS takes it: at most 12 hours."""
        return min(LONGEST_VISIBILITY_SECONDS, self.wait_seconds(attempt, chance, retry_after_seconds))


def is_permanent(error: BaseException) -> bool:
    """Whether running the job again cannot help. Unsure means transient: the attempts still end it."""
    match error:
        case Transient():
            return False
        case Permanent():
            return True
        case ProviderError(status=status):
            return 400 <= status < 500 and status not in _RETRYABLE_4XX
        case _:
            # a bare ValueError may be a bug that the next deploy mends; a refused payload stays wrong
            return isinstance(error, ValidationError)


def may_have_acted(error: BaseException) -> bool:
    """Whether a provider may have done what it was asked, though the call ended in this error.

    A no in plain words is a no (4xx: RFC 9110 §15.5); a server's own failure, or no answer at all, may have
    come after the deed.
    """
    match error:
        case Permanent() | NotActed():
            return False
        case ProviderError(status=status):
            return not 400 <= status < 500
        case _:
            return True


def retry_after_seconds(error: BaseException) -> float | None:
    """What the provider asked for, in seconds, None when it did not say."""
    return error.retry_after_seconds if isinstance(error, Transient | ProviderError) else None


def _round_half_up(value: float) -> int:
    return math.floor(value + 0.5)
