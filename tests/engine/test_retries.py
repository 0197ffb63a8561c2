import math

import pytest
from pydantic import BaseModel, ValidationError

from handlers.postroom.errors import NotFound, Permanent, ProviderError, Transient, Unreadable
from handlers.postroom.retries import Jitter, RetryPolicy, is_permanent, retry_after_seconds


def delays(policy: RetryPolicy, attempts: int, chance: float) -> list[int]:
    return [policy.delay_ms(attempt, chance) for attempt in range(1, attempts + 1)]


def test_without_jitter_the_delay_doubles() -> None:
    policy = RetryPolicy(base_ms=1_000, cap_ms=60_000, jitter=Jitter.NONE)

    assert delays(policy, 4, 0.3) == [1_000, 2_000, 4_000, 8_000]


def test_equal_jitter_reaches_its_ceiling_and_stops_at_the_cap() -> None:
    policy = RetryPolicy(base_ms=1_000, cap_ms=4_000, jitter=Jitter.EQUAL)

    assert delays(policy, 5, 1.0) == [1_000, 2_000, 4_000, 4_000, 4_000]


@pytest.mark.parametrize(
    ("chance", "expected"),
    [
        (0.0, [0, 0, 0, 0, 0, 0]),
        (0.5, [500, 1_000, 2_000, 4_000, 8_000, 10_000]),
        (1.0, [1_000, 2_000, 4_000, 8_000, 16_000, 20_000]),
    ],
)
def test_full_jitter_spreads_from_nothing_to_the_ceiling(chance: float, expected: list[int]) -> None:
    policy = RetryPolicy(base_ms=1_000, cap_ms=20_000, jitter=Jitter.FULL)

    assert delays(policy, 6, chance) == expected


@pytest.mark.parametrize(("base_ms", "expected"), [(1, 1), (3, 2), (5, 3)])
def test_halves_round_up(base_ms: int, expected: int) -> None:
    assert RetryPolicy(base_ms=base_ms, jitter=Jitter.FULL).delay_ms(1, 0.5) == expected


@pytest.mark.parametrize("attempt", [pytest.param(n, id=f"SQS-6-receive-{n}") for n in (0, 1, 12, 40, 10**9)])
def test_visibility_stays_within_what_sqs_takes(attempt: int) -> None:
    policy = RetryPolicy(base_ms=1_000, cap_ms=10**12, jitter=Jitter.NONE)

    assert 1 <= policy.visibility_seconds(attempt, 1.0) <= 43_200


def test_visibility_is_never_early_and_at_least_a_second() -> None:
    policy = RetryPolicy(base_ms=1_500, cap_ms=60_000, jitter=Jitter.FULL)

    assert policy.visibility_seconds(1, 1.0) == 2
    assert policy.visibility_seconds(1, 0.0) == 1


def test_a_longer_retry_after_is_obeyed_and_a_shorter_one_is_not() -> None:
    policy = RetryPolicy(base_ms=4_000, cap_ms=60_000, jitter=Jitter.NONE)

    assert policy.visibility_seconds(1, 1.0, retry_after_seconds=90.2) == 91
    assert policy.visibility_seconds(1, 1.0, retry_after_seconds=1) == 4


class Model(BaseModel):
    number: int


def invalid() -> ValidationError:
    with pytest.raises(ValidationError) as caught:
        Model(number="x")  # type: ignore[arg-type]
    return caught.value


@pytest.mark.parametrize(
    ("error", "permanent"),
    [
        (Permanent("no"), True),
        (NotFound("order"), True),
        (Unreadable("body"), True),
        (invalid(), True),
        *[(ProviderError(status, "refused"), True) for status in (400, 401, 403, 404, 409, 410, 422)],
        (ProviderError(408, "slow"), False),
        (ProviderError(429, "too many"), False),
        *[(ProviderError(status, "broken"), False) for status in (500, 502, 503, 504)],
        (Transient("401 while a credential rotates"), False),
        (TimeoutError(), False),
        (ConnectionResetError(), False),
        (ValueError("unsure"), False),
        (KeyError("unsure"), False),
    ],
    ids=lambda value: f"{type(value).__name__}-{value}" if isinstance(value, Exception) else str(value),
)
def test_what_is_retried(error: Exception, permanent: bool) -> None:
    assert is_permanent(error) is permanent


def test_retry_after_is_read_from_errors_that_can_carry_it() -> None:
    assert retry_after_seconds(Transient("busy", retry_after_seconds=3)) == 3
    assert retry_after_seconds(ProviderError(429, "busy", retry_after_seconds=7.5)) == 7.5
    assert retry_after_seconds(OSError()) is None


@pytest.mark.parametrize("wrong", [{"attempts": 0}, {"base_ms": -1}, {"cap_ms": -1}])
def test_a_policy_that_cannot_be_is_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="attempts ≥ 1"):
        RetryPolicy(**wrong)  # type: ignore[arg-type]


def test_ceilings_never_overflow() -> None:
    assert RetryPolicy(base_ms=1_000, cap_ms=20_000).ceiling_ms(10**6) == 20_000
    assert math.isfinite(RetryPolicy(base_ms=1_000, cap_ms=10**30).ceiling_ms(10**6))
