"""Order: each account's statement strictly in the order of its movements, whatever happens to one of them."""

from dataclasses import replace

import pytest

from handlers.postroom.aws.queue import SqsQueue
from handlers.postroom.errors import Permanent
from handlers.postroom.events import Event
from handlers.postroom.lines import Line, pass_over
from handlers.shop.accounts import ACCOUNT_CREDITED, AccountMoved, aggregate_of
from tests.path.clerk import (
    EIGHT_RECEIVES,
    Clerk,
    balances,
    closing_balance,
    kept_states,
    lines_of,
    move,
    movement,
    open_shop_with,
    states,
)
from tests.path.conftest import OpenShop
from tests.path.mailer import Killed
from tests.path.mortal_shop import redrive
from tests.path.shop import Shop

TEN = range(1, 11)


@pytest.fixture
def clerk() -> Clerk:
    return Clerk()


@pytest.fixture
def shop(open_shop: OpenShop, clerk: Clerk) -> Shop:
    return open_shop_with(clerk, open_shop)


def test_an_account_in_order_while_another_runs_beside_it(shop: Shop, clerk: Clerk) -> None:
    def take_long(account: str, number: int) -> None:
        if (account, number) == ("42", 2):
            shop.clock.advance(5)
            shop.poll("StatementFunction")
            shop.clock.advance(5)

    clerk.while_running = take_long
    move(shop, "42", 1, 2, 3)
    move(shop, "99", 1, 2)

    shop.run_until_idle()

    assert clerk.begun == [("42", 1), ("42", 2), ("99", 1), ("99", 2), ("42", 3)]
    of_99, of_42 = shop.runs("StatementFunction")
    assert of_42.started < of_99.started <= of_99.ended < of_42.ended
    assert (lines_of(shop, "42"), lines_of(shop, "99")) == (balances(1, 2, 3), balances(1, 2))


def test_while_one_account_waits_for_a_retry_the_other_goes_on(shop: Shop, clerk: Clerk) -> None:
    shop.expects("job.attempt_failed")
    clerk.troubles["42", 2] = [OSError("busy"), OSError("busy")]
    move(shop, "42", 1, 2, 3)
    shop.settle()
    shop.run_for(1.5)
    move(shop, "99", 1, 2)
    shop.settle()
    assert (lines_of(shop, "42"), lines_of(shop, "99")) == (balances(1), balances(1, 2))

    shop.run_until_idle()

    assert [number for account, number in clerk.begun if account == "42"] == [1, 2, 2, 2, 3]
    assert lines_of(shop, "42") == balances(1, 2, 3)
    assert closing_balance(shop, "42") == 300


def test_no_follower_of_a_poison_head_is_dead(shop: Shop, clerk: Clerk) -> None:
    shop.expects("job.attempt_failed")
    clerk.troubles["42", 1] = [OSError("poison")] * 99
    move(shop, "42", *TEN)

    shop.run_until_idle()

    assert states(shop, "42", *TEN) == ["dead", *["queued"] * 9]
    assert kept_states(shop, "42", *TEN[1:]) == {"parked"}
    assert shop.waiting("StatementDeadLetterQueue") == 1
    assert shop.waiting("StatementQueue") == 0
    assert clerk.begun == [("42", 1)] * 3


def test_a_redrive_of_the_head_brings_all_that_waits_in_order(shop: Shop, clerk: Clerk) -> None:
    shop.expects("job.attempt_failed")
    clerk.troubles["42", 1] = [Permanent("mended later")]
    move(shop, "42", *TEN)
    shop.run_until_idle()

    task = redrive(shop, "statement")

    assert (task["Status"], task["ApproximateNumberOfMessagesMoved"]) == ("COMPLETED", 1)
    assert [number for _, number in clerk.begun] == [1, *TEN]
    assert states(shop, "42", *TEN) == ["completed"] * 10
    assert (lines_of(shop, "42"), closing_balance(shop, "42")) == (balances(*TEN), 1_000)


def test_a_dead_one_that_is_passed_over_leaves_a_gap_and_the_rest_in_order(shop: Shop, clerk: Clerk) -> None:
    shop.expects("job.attempt_failed")
    clerk.troubles["42", 3] = [Permanent("never")]
    move(shop, "42", *TEN)
    shop.run_until_idle()
    queue = SqsQueue(replace(shop.own, new_id=lambda: "released"), shop.stack.ref("StatementQueue"))

    assert pass_over(Line("statement", aggregate_of("42")), 3, shop.store, queue)
    shop.run_until_idle()

    assert states(shop, "42", *TEN) == ["completed", "completed", "dead", *["completed"] * 7]
    assert lines_of(shop, "42") == balances(1, 2, *TEN[3:])


def test_what_is_published_early_waits_for_the_movement_before_it(shop: Shop) -> None:
    move(shop, "42", 3, 2)
    shop.settle()
    assert (lines_of(shop, "42"), states(shop, "42", 2, 3)) == ([], ["queued", "queued"])

    move(shop, "42", 1)
    shop.settle()

    assert lines_of(shop, "42") == balances(1, 2, 3)


def test_a_crash_in_the_middle_of_a_line_changes_nothing(shop: Shop, clerk: Clerk) -> None:
    shop.expects("Runtime.ExitError")
    clerk.troubles["42", 2] = [Killed()]
    move(shop, "42", *TEN)

    shop.run_until_idle()

    assert states(shop, "42", *TEN) == ["completed"] * 10
    assert (lines_of(shop, "42"), closing_balance(shop, "42")) == (balances(*TEN), 1_000)


def test_published_three_times_it_is_on_the_statement_once(shop: Shop) -> None:
    move(shop, "42", 1, 2)
    shop.run_until_idle()
    for publication in ("again-1", "again-2"):
        for number in (2, 1):
            _publish(shop, movement(shop, "42", number), f"{publication}-{number}")

    shop.run_until_idle()

    assert lines_of(shop, "42") == balances(1, 2)
    assert shop.outcomes("statement") == ["completed"] * 2 + ["duplicate"] * 4


def test_a_line_cannot_be_cancelled_into_a_gap(shop: Shop, clerk: Clerk) -> None:
    shop.expects("job.attempt_failed")
    clerk.troubles["42", 1] = [OSError("busy")]
    move(shop, "42", 1, 2)
    shop.settle()

    event_id = ACCOUNT_CREDITED.event_id(aggregate_of("42"), 1)
    assert shop.stack.call("DELETE", f"/jobs/{event_id}", subject="ada").status == 409
    shop.run_until_idle()

    assert lines_of(shop, "42") == balances(1, 2)


def test_letters_of_an_ordered_queue_are_told_by_the_watch(shop: Shop, clerk: Clerk) -> None:
    shop.expects("Runtime.ExitError", "job.never_reported")
    clerk.troubles["42", 1] = [Killed() for _ in range(EIGHT_RECEIVES)]
    clerk.troubles["99", 1] = [Killed() for _ in range(EIGHT_RECEIVES)]
    move(shop, "42", 1)
    move(shop, "99", 1)
    shop.run_until_idle()
    assert shop.waiting("StatementDeadLetterQueue") == 2

    shop.run_for(60)

    assert states(shop, "42", 1) == states(shop, "99", 1) == ["dead"]
    assert shop.waiting("StatementDeadLetterQueue") == 2


def _publish(shop: Shop, event: Event[AccountMoved], publication: str) -> None:
    shop.client("sns").publish(
        TopicArn=shop.stack.ref("OrderedEventsTopic"),
        Message=event.to_json(),
        MessageGroupId=event.aggregate,
        MessageDeduplicationId=publication,
        MessageAttributes={
            "type": {"DataType": "String", "StringValue": event.type},
            "publication": {"DataType": "String", "StringValue": publication},
        },
    )
