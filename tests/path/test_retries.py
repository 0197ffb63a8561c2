"""What may pass is tried again after its backoff, alone, and for as long as its job type says."""

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest

from handlers import queue_invoices, queue_receipts
from handlers.postroom.aws.queue_entry import QueueEntry, queue_handler
from handlers.postroom.errors import ProviderError
from handlers.postroom.jobs import Call, Job, call_job
from handlers.postroom.retries import Jitter, RetryPolicy
from handlers.shop.orders import ORDER_PAID, OrderPaid
from tests.path.conftest import OpenShop
from tests.path.shop import Shop, with_policy

FAILED = "job.attempt_failed"
OUTAGE_POLICY = {"attempts": 5, "base_ms": 1_000, "cap_ms": 60_000, "jitter": Jitter.NONE}


def shop_in_an_outage(open_shop: OpenShop, mailer_back_at: float) -> Shop:
    """Receipts with at most 5 attempts, base 1 s, cap 60 s, no jitter."""
    made: list[Shop] = []
    send_receipt = with_policy(queue_receipts.handler, **OUTAGE_POLICY)
    shop = open_shop(receipts=queue_handler(send_receipt, provider=lambda _: made[0].mailer))
    made.append(shop)
    shop.expects(FAILED)
    shop.mailer.switch.fail(seconds=mailer_back_at)
    return shop


def test_a_mailer_back_at_5_s_gets_the_receipt_at_7_s_on_attempt_4_and_the_invoice_never_waited(
    open_shop: OpenShop,
) -> None:
    shop = shop_in_an_outage(open_shop, mailer_back_at=5)
    event = shop.order(1001)

    shop.run_until_idle()

    assert shop.failures(event.id, "receipts") == [0.0, 1.0, 3.0]
    assert shop.ended_at(event.id, "receipts") == 7.0
    assert shop.handed_out("ReceiptsFunction") == [(0.0, [1]), (1.0, [2]), (3.0, [3]), (7.0, [4])]
    assert shop.status(event.id)["receipts"]["attempts"] == 4
    assert shop.ended_at(event.id, "invoices") == 0.0
    assert shop.mailer.sent == [(7.0, "order-1001-paid:receipts")]


def test_a_failed_job_comes_back_after_its_backoff_and_not_before(open_shop: OpenShop) -> None:
    shop = shop_in_an_outage(open_shop, mailer_back_at=0.5)
    shop.order(1001)
    shop.settle()

    shop.clock.advance(0.999)
    too_early = shop.poll("ReceiptsFunction")
    shop.clock.advance(0.001)
    in_time = shop.poll("ReceiptsFunction")

    assert (too_early, in_time) == (0, 1)
    assert shop.states("order-1001-paid")["receipts"] == "completed"


def test_a_job_waiting_for_its_retry_holds_no_other_order_up(open_shop: OpenShop) -> None:
    shop = shop_in_an_outage(open_shop, mailer_back_at=2)
    shop.order(1001)
    shop.run_until(2.5)

    later = shop.order(1002)
    shop.settle()

    assert shop.states(later.id)["receipts"] == "completed"
    assert shop.states("order-1001-paid")["receipts"] == "retrying"


def test_full_jitter_spreads_retries_below_their_ceiling(shop: Shop) -> None:
    """Receipts that fail together do not come back together."""
    shop.expects(FAILED)
    shop.mailer.switch.fail(seconds=15)
    for number in range(1001, 1026):
        shop.order(number)

    with shop.without("InvoicesFunction", "LoyaltyFunction", "WarehouseFunction"):
        shop.run_until_idle()

    fourth_runs = Counter(
        shop.failures(f"order-{number}-paid", "receipts")[3] for number in range(1001, 1026)
    )
    assert max(fourth_runs.values()) < 13
    assert min(fourth_runs) >= 3
    assert max(fourth_runs) <= 1 + 2 + 4
    assert len(shop.mailer.sent) == len(shop.mailer.mails) == 25


def test_receipts_that_queue_up_in_an_hours_outage_are_all_delivered_and_none_twice(shop: Shop) -> None:
    shop.expects(FAILED)
    shop.mailer.switch.fail(seconds=3600)
    events = [shop.order(number) for number in range(1, 41)]

    with shop.without("InvoicesFunction", "LoyaltyFunction", "WarehouseFunction", *shop.scheduled):
        shop.run_until_idle()

    assert sorted(key for _, key in shop.mailer.sent) == sorted(f"{event.id}:receipts" for event in events)
    assert shop.waiting("ReceiptsDeadLetterQueue") == 0


def test_3000_receipts_of_an_hours_outage_neither_give_up_nor_hammer_the_provider_in_lockstep() -> None:
    """By the job type's own policy: without jitter, all of them would be back in the same second."""
    policy = queue_receipts.handler.job_type.retry
    back_at_seconds = 3600
    dice = random.Random(1)

    runs = [_runs_until(back_at_seconds, policy, dice.random) for _ in range(3000)]
    together = [_runs_until(back_at_seconds, replace(policy, jitter=Jitter.NONE), dice.random)] * 3000

    assert max(map(len, runs)) < policy.attempts
    assert max(Counter(times[-1] for times in runs).values()) < 30
    assert max(Counter(times[-1] for times in together).values()) == 3000


def _runs_until(back_at_seconds: int, policy: RetryPolicy, chance: Callable[[], float]) -> list[int]:
    """When a receipt that was due at 0 s is tried: the last time is after the provider is back."""
    times = [0]
    while times[-1] < back_at_seconds:
        times.append(times[-1] + policy.visibility_seconds(len(times), chance()))
    return times


def test_a_provider_that_names_its_time_is_asked_then_and_not_before(open_shop: OpenShop) -> None:
    answers: list[Exception] = [ProviderError(429, "too many", retry_after_seconds=20)]
    shop = open_shop(receipts=calling(answers))
    shop.expects(FAILED)
    event = shop.order(1001)

    shop.run_until_idle()

    assert shop.handed_out("ReceiptsFunction") == [(0.0, [1]), (20.0, [2])]
    assert shop.states(event.id)["receipts"] == "completed"


@pytest.mark.parametrize(
    ("status", "state"),
    [(400, "dead"), (404, "dead"), (422, "dead"), (408, "completed"), (429, "completed"), (503, "completed")],
)
def test_an_answer_that_no_retry_can_mend_is_final_and_any_other_is_tried_again(
    open_shop: OpenShop, status: int, state: str
) -> None:
    shop = open_shop(receipts=calling([ProviderError(status, "no")]))
    shop.expects(FAILED)
    event = shop.order(1001)

    shop.run_until_idle()

    assert shop.states(event.id)["receipts"] == state


def test_past_its_deadline_a_job_expires_and_is_no_dead_letter(open_shop: OpenShop) -> None:
    """A login code five minutes late is not worth sending."""
    made: list[Shop] = []
    entry = queue_handler(
        with_policy(queue_receipts.handler, deadline_seconds=300, jitter=Jitter.NONE),
        provider=lambda _: made[0].mailer,
    )
    shop = open_shop(receipts=entry)
    made.append(shop)
    shop.expects(FAILED)
    shop.mailer.switch.fail(seconds=400)
    event = shop.order(1001)

    shop.run_until_idle()

    assert shop.states(event.id)["receipts"] == "expired"
    assert shop.failures(event.id, "receipts")[-1] == 255.0
    assert shop.ended_at(event.id, "receipts") == 511.0
    assert shop.mailer.sent == []
    assert shop.waiting("ReceiptsDeadLetterQueue") == 0


def test_a_receipt_five_hours_late_is_still_sent(shop: Shop) -> None:
    shop.expects(FAILED)
    shop.mailer.switch.fail(seconds=5 * 3600)
    event = shop.order(1001)

    with shop.without(*shop.scheduled):
        shop.run_until_idle()

    assert shop.states(event.id)["receipts"] == "completed"
    assert shop.ended_at(event.id, "receipts") >= 5 * 3600


def test_each_job_type_has_its_own_policy() -> None:
    receipts, invoices = queue_receipts.handler.job_type.retry, queue_invoices.handler.job_type.retry

    assert receipts.attempts > invoices.attempts
    assert sum(receipts.ceiling_ms(attempt) for attempt in range(1, receipts.attempts)) > 24 * 3600 * 1000
    assert invoices.deadline_seconds is receipts.deadline_seconds is None


def calling(answers: list[Exception]) -> QueueEntry:
    """Receipts whose provider gives these answers first, and then says yes."""

    def answered(_provider: None) -> dict[str, str]:
        if answers:
            raise answers.pop(0)
        return {"messageId": "e_1a2b"}

    @call_job("receipts", on=ORDER_PAID)
    def send(_job: Job[OrderPaid]) -> Call[None]:
        return Call(answered)

    return queue_handler(send, provider=lambda _: None)
