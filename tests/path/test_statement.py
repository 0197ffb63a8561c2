"""Order: each account's statement strictly in the order of its movements, whatever happens to one of them."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import pytest

from handlers import queue_statement
from handlers.postroom.aws.queue import SqsQueue
from handlers.postroom.aws.queue_entry import queue_handler
from handlers.postroom.errors import Permanent
from handlers.postroom.events import Event
from handlers.postroom.jobs import Commit, CommitJob, Job, commit_job
from handlers.postroom.lines import Line, pass_over
from handlers.postroom.outbox import event_row
from handlers.postroom.retries import Jitter, RetryPolicy
from handlers.shop.accounts import ACCOUNT, ACCOUNT_CREDITED, AccountMoved, aggregate_of
from tests.path.conftest import OpenShop
from tests.path.mailer import Killed
from tests.path.mortal_shop import redrive, redriven_after
from tests.path.shop import Shop

EIGHT_RECEIVES = 8
QUICK = RetryPolicy(attempts=3, base_ms=1_000, jitter=Jitter.NONE)
TEN = range(1, 11)


@dataclass
class Clerk:
    """Writes statements, unless a movement (account, number) has troubles coming. Notes what was begun."""

    troubles: dict[tuple[str, int], list[BaseException]] = field(default_factory=dict)
    while_running: Callable[[str, int], None] = lambda _account, _number: None
    begun: list[tuple[str, int]] = field(default_factory=list)

    @property
    def job_type(self) -> CommitJob[AccountMoved]:
        return commit_job("statement", on=ACCOUNT, retry=QUICK, ordered=True)(self._run)

    def _run(self, job: Job[AccountMoved]) -> Commit:
        movement = job.data.account_id, job.event.sequence
        self.begun.append(movement)
        self.while_running(*movement)
        if self.troubles.get(movement):
            raise self.troubles[movement].pop(0)
        return queue_statement.write_line.run(job)


@pytest.fixture
def clerk() -> Clerk:
    return Clerk()


@pytest.fixture
def shop(open_shop: OpenShop, clerk: Clerk) -> Shop:
    changes = redriven_after("StatementQueue", EIGHT_RECEIVES)
    return open_shop(changes, statement=queue_handler(clerk.job_type))


def movement(shop: Shop, account: str, number: int) -> Event[AccountMoved]:
    return ACCOUNT_CREDITED.new(
        aggregate_of(account),
        AccountMoved(account_id=account, amount=100, balance=100 * number, currency="NGN"),
        sequence=number,
        time=datetime.fromtimestamp(shop.clock.now(), UTC),
        owner="ada",
        trace="",
    )


def move(shop: Shop, account: str, *numbers: int) -> None:
    for number in numbers:
        shop.store.write(event_row(ACCOUNT_CREDITED, movement(shop, account, number)))


def lines_of(shop: Shop, account: str) -> list[int]:
    """The balances on a statement, line by line."""
    items = shop.shop_items(aggregate_of(account))
    return [item["balance"] for item in sorted(items, key=_by_place) if item["sk"].startswith("statement-")]


def closing_balance(shop: Shop, account: str) -> int:
    (foot,) = (item for item in shop.shop_items(aggregate_of(account)) if item["sk"] == "statement")
    return int(foot["balance"])


def states(shop: Shop, account: str, *numbers: int) -> list[str]:
    """As the owner sees them."""
    return [shop.states(ACCOUNT_CREDITED.event_id(aggregate_of(account), n))["statement"] for n in numbers]


def kept_states(shop: Shop, account: str, *numbers: int) -> set[str]:
    """As the rows have them."""
    ids = (ACCOUNT_CREDITED.event_id(aggregate_of(account), number) for number in numbers)
    return {shop.jobs(each)["statement"]["state"] for each in ids}


def _by_place(item: Any) -> str:
    return str(item["sk"])


def balances(*numbers: int) -> list[int]:
    return [100 * number for number in numbers]


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
